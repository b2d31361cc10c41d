//! Questions to BTF, the kernel's (and our objects') description of their own types.

use libbpf_rs::btf::types::{FuncProto, MemberAttr, Ptr, Struct, StructMember};
use libbpf_rs::btf::{Btf, BtfType, ReferencesType};

/// A struct's member, with the type that carries it.
fn member<'b>(composite: &'b Struct<'b>, name: &str) -> Option<StructMember<'b>> {
    composite.iter().find(|m| m.name.is_some_and(|n| n == name))
}

pub(crate) fn has_struct(btf: &Btf<'_>, name: &str) -> bool {
    btf.type_by_name::<Struct<'_>>(name).is_some()
}

pub(crate) fn has_member(btf: &Btf<'_>, of: &str, name: &str) -> bool {
    btf.type_by_name::<Struct<'_>>(of).is_some_and(|s| member(&s, name).is_some())
}

/// Offset of a member in bytes.
pub(crate) fn offset(btf: &Btf<'_>, of: &str, name: &str) -> Option<usize> {
    let composite = btf.type_by_name::<Struct<'_>>(of)?;
    match member(&composite, name)?.attr {
        MemberAttr::Normal { offset } => Some(offset as usize / 8),
        MemberAttr::BitField { .. } => None,
    }
}

/// Number by which the kernel refers to a struct.
pub(crate) fn id(btf: &Btf<'_>, of: &str) -> Option<u32> {
    btf.type_by_name::<Struct<'_>>(of).map(|s| s.type_id().into())
}

/// Number of arguments of a member that is a pointer to a function.
pub(crate) fn arguments(btf: &Btf<'_>, of: &str, name: &str) -> Option<usize> {
    let composite = btf.type_by_name::<Struct<'_>>(of)?;
    let ty: BtfType<'_> = btf.type_by_id(member(&composite, name)?.ty)?;
    let pointer: Ptr<'_> = ty.skip_mods_and_typedefs().try_into().ok()?;
    let function: FuncProto<'_> = pointer.referenced_type().skip_mods_and_typedefs().try_into().ok()?;
    Some(function.len())
}
