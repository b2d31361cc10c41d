//! Reads of BTF: the description of types that the kernel and each object of this library contain.

use libbpf_rs::btf::types::{FuncProto, MemberAttr, Ptr, Struct, StructMember};
use libbpf_rs::btf::{Btf, BtfType, HasSize, ReferencesType};

/// Returns a struct's member of this name.
fn member<'b>(composite: &'b Struct<'b>, name: &str) -> Option<StructMember<'b>> {
    composite.iter().find(|m| m.name.is_some_and(|n| n == name))
}

/// Returns the struct that is the type of a member.
fn struct_of<'b>(btf: &'b Btf<'_>, member: &StructMember<'_>) -> Option<Struct<'b>> {
    let ty: BtfType<'b> = btf.type_by_id(member.ty)?;
    ty.skip_mods_and_typedefs().try_into().ok()
}

pub(crate) fn has_struct(btf: &Btf<'_>, name: &str) -> bool {
    btf.type_by_name::<Struct<'_>>(name).is_some()
}

pub(crate) fn has_member(btf: &Btf<'_>, of: &str, name: &str) -> bool {
    btf.type_by_name::<Struct<'_>>(of).is_some_and(|s| member(&s, name).is_some())
}

/// Returns the names of a struct's members, in their order; none if there is no such struct.
pub(crate) fn names_of(btf: &Btf<'_>, of: &str) -> Vec<String> {
    let names = |s: Struct<'_>| {
        s.iter().filter_map(|m| Some(m.name?.to_string_lossy().into_owned())).collect::<Vec<_>>()
    };
    btf.type_by_name::<Struct<'_>>(of).map(names).unwrap_or_default()
}

/// Returns the size of a struct in bytes.
pub(crate) fn size(btf: &Btf<'_>, name: &str) -> Option<usize> {
    btf.type_by_name::<Struct<'_>>(name).map(|s| s.size())
}

/// Returns the offset of a member in bytes.
pub(crate) fn offset(btf: &Btf<'_>, of: &str, name: &str) -> Option<usize> {
    let composite = btf.type_by_name::<Struct<'_>>(of)?;
    match member(&composite, name)?.attr {
        MemberAttr::Normal { offset } => Some(offset as usize / 8),
        MemberAttr::BitField { .. } => None,
    }
}

/// Returns the size in bytes of the struct that the member with this offset in bytes is.
pub(crate) fn size_at(btf: &Btf<'_>, of: &str, at: usize) -> Option<usize> {
    let composite = btf.type_by_name::<Struct<'_>>(of)?;
    let is_there = |m: &StructMember<'_>| match m.attr {
        MemberAttr::Normal { offset } => offset as usize / 8 == at,
        MemberAttr::BitField { .. } => false,
    };
    let found = composite.iter().find(is_there)?;
    Some(struct_of(btf, &found)?.size())
}

/// Returns the names of the members of the struct that a member is, in their order.
pub(crate) fn names_in(btf: &Btf<'_>, of: &str, name: &str) -> Option<Vec<String>> {
    let composite = btf.type_by_name::<Struct<'_>>(of)?;
    let inner = struct_of(btf, &member(&composite, name)?)?;
    inner.iter().map(|m| Some(m.name?.to_string_lossy().into_owned())).collect()
}

/// Returns the number by which the kernel refers to a struct.
pub(crate) fn id(btf: &Btf<'_>, of: &str) -> Option<u32> {
    btf.type_by_name::<Struct<'_>>(of).map(|s| s.type_id().into())
}

/// Returns the number of arguments of a member that is a pointer to a function.
pub(crate) fn arguments(btf: &Btf<'_>, of: &str, name: &str) -> Option<usize> {
    let composite = btf.type_by_name::<Struct<'_>>(of)?;
    let ty: BtfType<'_> = btf.type_by_id(member(&composite, name)?.ty)?;
    let pointer: Ptr<'_> = ty.skip_mods_and_typedefs().try_into().ok()?;
    let function: FuncProto<'_> = pointer.referenced_type().skip_mods_and_typedefs().try_into().ok()?;
    Some(function.len())
}
