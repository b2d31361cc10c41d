//! Compiled algorithms: the embedded algorithms, and algorithms that a user compiled.

use std::borrow::Cow;
use std::sync::OnceLock;

use fairpace_cc::{Algorithm, Decision, Params, View};
use libbpf_rs::btf::Btf;
use libbpf_rs::{MapType, ObjectBuilder};

use crate::{Error, btf, log};

include!(concat!(env!("OUT_DIR"), "/objects.rs"));

/// Offsets in `struct cc_flow` of cc/bpf/object.bpf.c: since_us, acks, view, decision, the algorithm's own
/// state.
pub(crate) const VIEW_AT: usize = 16;
pub(crate) const STATE_AT: usize = VIEW_AT + size_of::<View>() + size_of::<Decision>();

/// Units at the end of a parameter's name in C, which users write with the value instead.
const UNITS: [&str; 2] = ["_us", "_Bps"];

/// Returns name and ELF bytes of each embedded object, or the reason why there are none.
pub(crate) fn built() -> Result<&'static [(&'static str, &'static [u8])], &'static str> {
    OBJECTS
}

/// Returns name and ELF bytes of all objects that this build contains: those of the listed algorithms, and
/// the loader's own. Without clang a build contains none.
#[must_use]
pub fn contained_objects() -> Vec<(&'static str, &'static [u8])> {
    [OBJECTS, TOOLS].into_iter().flatten().flatten().copied().collect()
}

/// Returns the ELF bytes of an embedded object that is no algorithm.
pub(crate) fn tool(name: &'static str) -> Result<&'static [u8], Error> {
    let tools = TOOLS.map_err(|why| Error::NotBuilt { why })?;
    let found = tools.iter().find(|(tool, _)| *tool == name);
    found.map(|(_, elf)| *elf).ok_or_else(|| bad_object(name, "all of its code"))
}

/// Returns whether this build contains objects of the listed algorithms. It does not when it was built
/// without clang from a checkout without compiled objects.
#[cfg(feature = "testing")]
pub fn is_built() -> bool {
    OBJECTS.is_ok()
}

/// A compiled algorithm with its parameters, for [`load_object`](crate::load_object).
#[derive(Debug, Clone)]
pub struct Object {
    pub(crate) elf: Cow<'static, [u8]>,
    pub(crate) algorithm: Option<Algorithm>,
    pub(crate) kernel_name: String,
    pub(crate) state_bytes: usize,
    parameters: Vec<ObjectParameter>,
}

/// A parameter as an object holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectParameter {
    /// Name of the parameter in C, which ends with its unit: `alpha_us`.
    pub name: String,
    /// The raw number, in the unit that the header declares.
    pub value: u32,
}

impl Object {
    /// Returns the object of an algorithm, with these parameters: the object that this program contains, or
    /// for a header the object that [`compile_with`]'s function returns.
    ///
    /// # Errors
    /// [`Error::NotBuilt`], or [`Error::NotCompiled`].
    pub fn listed(params: &Params) -> Result<Object, Error> {
        let algorithm = params.algorithm();
        let elf = elf(algorithm)?;
        let words = params.as_bytes().chunks_exact(4).filter_map(|word| word.first_chunk().copied());
        let names = algorithm.parameters().iter().map(|parameter| parameter.c_name.to_owned());
        let parameters = names.zip(words.map(u32::from_ne_bytes));
        Ok(Object {
            elf,
            algorithm: Some(algorithm),
            kernel_name: algorithm.kernel_name().to_owned(),
            state_bytes: algorithm.state_bytes(),
            parameters: parameters.map(|(name, value)| ObjectParameter { name, value }).collect(),
        })
    }

    /// Reads an object that `fairpace-bpf-build` compiled, with the defaults of its header as parameters.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use fairpace_bpf_build::{Algorithm, BpfCompiler, Kind, Sources};
    /// use fairpace_kernel::{LoadOptions, Object, load_object};
    ///
    /// let compiler = BpfCompiler::new(Sources::contained()?)?;
    /// let compiled = compiler.compile(&Algorithm::new("mine.h", Kind::OwnsCwnd)?)?;
    ///
    /// let mut object = Object::from_elf(&compiled.elf)?;
    /// object.set("cwnd_pkts", 30)?;
    /// let loaded = load_object(&object, &LoadOptions::default())?; // sockets can now select "fp_mine"
    /// assert_eq!(loaded.kernel_name(), "fp_mine");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::NotAnAlgorithm`]: the bytes are no such object, or an object of another version of the
    /// contract.
    pub fn from_elf(elf: &[u8]) -> Result<Object, Error> {
        let why = |why: &str| Error::NotAnAlgorithm { why: why.to_owned() };
        let (open, _) = log::with_log(|| ObjectBuilder::default().open_memory(elf));
        let open = open.map_err(|e| why(&format!("libbpf cannot open it as a BPF object: {e}")))?;
        let types = Btf::from_raw("object", elf).ok().flatten().ok_or_else(|| why("it has no BTF"))?;
        let state_bytes = check_contract(&types).map_err(why)?;

        let mut kernel_name = None;
        let mut defaults = None;
        for map in open.maps() {
            if map.map_type() == MapType::StructOps {
                kernel_name = Some(map.name().to_string_lossy().into_owned());
            } else if map.name().to_string_lossy().ends_with(".config") {
                defaults = map.initial_value().map(<[u8]>::to_vec);
            }
        }
        let kernel_name = kernel_name.ok_or_else(|| why("it has no struct_ops"))?;
        let parameters = defaults.and_then(|config| parameters(&types, &config));
        Ok(Object {
            elf: Cow::Owned(elf.to_vec()),
            algorithm: None,
            kernel_name,
            state_bytes,
            parameters: parameters.ok_or_else(|| why("it has no parameters (cc_config)"))?,
        })
    }

    /// The object's name in the kernel before a suffix, `fp_NAME`.
    pub fn kernel_name(&self) -> &str {
        &self.kernel_name
    }

    /// The parameters with their present values, in the order of the header.
    pub fn parameters(&self) -> &[ObjectParameter] {
        &self.parameters
    }

    /// Sets a parameter to a raw number, by its name in C or without the unit at its end (`alpha_us` or
    /// `alpha`). The object does not know the range that the header declares: a listed algorithm's [`Params`]
    /// do.
    ///
    /// # Errors
    /// [`Error::UnknownParameter`].
    pub fn set(&mut self, name: &str, value: u32) -> Result<(), Error> {
        let index = |is: &dyn Fn(&str) -> bool| self.parameters.iter().position(|p| is(&p.name));
        let unit = |full: &str| UNITS.iter().any(|unit| full.strip_suffix(unit) == Some(name));
        match index(&|full| full == name).or_else(|| index(&unit)) {
            Some(index) => self.parameters[index].value = value,
            None => {
                let known = self.parameters.iter().map(|parameter| parameter.name.clone()).collect();
                return Err(Error::UnknownParameter { name: name.to_owned(), known });
            }
        }
        Ok(())
    }

    /// The parameters as C holds them.
    pub(crate) fn parameter_bytes(&self) -> Vec<u8> {
        self.parameters.iter().flat_map(|parameter| parameter.value.to_ne_bytes()).collect()
    }
}

/// A function that compiles the header of an algorithm for the kernel.
type Compile = fn(Algorithm) -> Result<Vec<u8>, String>;

static COMPILE: OnceLock<Compile> = OnceLock::new();

/// Sets the function that compiles algorithms that have a header of their own (`Algorithm::header` of
/// fairpace-cc's feature `plugin`). This crate has no compiler. The first call counts.
pub fn compile_with(compile: Compile) {
    let _ = COMPILE.set(compile);
}

/// Returns whether the algorithm is listed, and not a header of the user.
pub(crate) fn is_listed(algorithm: Algorithm) -> bool {
    Algorithm::all().any(|listed| listed == algorithm)
}

fn elf(algorithm: Algorithm) -> Result<Cow<'static, [u8]>, Error> {
    let objects = built().map_err(|why| Error::NotBuilt { why });
    if let Some((_, elf)) =
        objects.as_ref().ok().and_then(|of| of.iter().find(|(name, _)| *name == algorithm.name()))
    {
        return Ok(Cow::Borrowed(elf));
    }
    let Some(compile) = COMPILE.get().filter(|_| !is_listed(algorithm)) else {
        // build.rs and fairpace-cc read the same list; a test compares them
        return Err(objects.err().unwrap_or_else(|| bad_object(algorithm.kernel_name(), "all of its code")));
    };
    let why = |messages| Error::NotCompiled { name: algorithm.name().to_owned(), messages };
    compile(algorithm).map(Cow::Owned).map_err(why)
}

/// Returns the size of the algorithm's state in bytes, if the object has the layouts that this library reads;
/// else the difference.
fn check_contract(types: &Btf<'_>) -> Result<usize, &'static str> {
    if btf::size(types, "cc_view") != Some(size_of::<View>())
        || btf::size(types, "cc_decision") != Some(size_of::<Decision>())
    {
        return Err("it was compiled with another version of the contract");
    }
    if btf::offset(types, "cc_flow", "view") != Some(VIEW_AT) {
        return Err("it was compiled with another version of the shim");
    }
    btf::size_at(types, "cc_flow", STATE_AT).ok_or("it was compiled with another version of the shim")
}

/// Returns the `params` of a `struct cc_config`: names from BTF, values from the bytes.
fn parameters(types: &Btf<'_>, config: &[u8]) -> Option<Vec<ObjectParameter>> {
    let names = btf::names_in(types, "cc_config", "params")?;
    let words = config.get(btf::offset(types, "cc_config", "params")?..)?.chunks_exact(4);
    let values = words.filter_map(|word| word.first_chunk().copied().map(u32::from_ne_bytes));
    let parameters: Vec<_> =
        names.into_iter().zip(values).map(|(name, value)| ObjectParameter { name, value }).collect();
    Some(parameters)
}

pub(crate) fn bad_object(name: &str, lacks: &'static str) -> Error {
    Error::BadObject { name: name.to_owned(), lacks }
}

#[cfg(test)]
mod tests {
    use fairpace_test_support::skip;

    use super::*;

    #[test]
    fn the_objects_are_those_of_the_native_build() {
        let Ok(objects) = built() else { return skip("this build has no kernel objects") };
        let names: Vec<_> = objects.iter().map(|(name, _)| *name).collect();
        let native: Vec<_> = Algorithm::all().map(Algorithm::name).collect();
        assert_eq!(names, native);
    }

    #[test]
    fn an_embedded_object_read_as_elf_has_the_layout_that_the_native_build_has() {
        let Ok(objects) = built() else { return skip("this build has no kernel objects") };
        for (algorithm, (_, elf)) in Algorithm::all().zip(objects) {
            let object = Object::from_elf(elf).unwrap_or_else(|e| panic!("{algorithm}: {e}"));
            assert_eq!(object.kernel_name(), algorithm.kernel_name());
            assert_eq!(object.state_bytes, algorithm.state_bytes());
            assert_eq!(object.parameters().len(), algorithm.parameters().len());
            for (read, listed) in object.parameters().iter().zip(algorithm.parameters()) {
                assert_eq!(read.name, listed.c_name, "{algorithm}");
                assert_eq!(read.value, listed.default, "{algorithm}: {read:?} is not {listed:?}");
            }
        }
    }

    #[test]
    fn a_parameter_is_set_by_name_and_an_unknown_one_is_an_error_that_lists_the_known() {
        let Ok(objects) = built() else { return skip("this build has no kernel objects") };
        let (_, elf) = objects.iter().find(|(name, _)| *name == "fixed_cwnd").expect("it is listed");
        let mut object = Object::from_elf(elf).expect("an object");
        let name = object.parameters()[0].name.clone();
        object.set(&name, 77).expect("it exists");
        assert_eq!(object.parameter_bytes()[..4], 77u32.to_ne_bytes());
        let error = object.set("nonesuch", 1).expect_err("it does not exist");
        assert!(error.to_string().contains("nonesuch") && error.to_string().contains(&name), "{error}");
    }

    #[test]
    fn a_listed_object_and_its_elf_name_their_parameters_alike_and_take_them_with_or_without_unit() {
        let algorithm = Algorithm::by_name("bbq").expect("it is listed");
        let listed = match Object::listed(&Params::defaults(algorithm)) {
            Err(Error::NotBuilt { why }) => return skip(why),
            listed => listed.expect("an object"),
        };
        let mut object = Object::from_elf(&listed.elf).expect("an object");
        assert_eq!(object.parameters(), listed.parameters());
        let alpha = |object: &Object| object.parameters().iter().find(|p| p.name == "alpha_us").cloned();
        for (name, value) in [("alpha_us", 7000), ("alpha", 8000)] {
            object.set(name, value).expect("it exists");
            assert_eq!(alpha(&object).map(|p| p.value), Some(value));
        }
    }

    #[test]
    fn bytes_that_are_no_object_are_refused_with_the_reason() {
        for bytes in [&b""[..], b"\x7fELF", b"not an ELF file at all"] {
            let error = Object::from_elf(bytes).expect_err("it is no object");
            assert!(matches!(error, Error::NotAnAlgorithm { .. }), "{error:?}");
        }
    }
}
