//! DLPack: a batch's memory as a tensor that other libraries take over without a copy.
//!
//! What must stay true: a capsule owns one reference to the memory, and gives it back exactly once, either by whoever
//! took the tensor over or, if nobody did, with the capsule. Giving back touches nothing of Python: it may happen in
//! any thread, without the interpreter lock, and while the interpreter is taken down.

#![expect(unsafe_code, reason = "DLPack is a structure of C that owns what it points to")]

use std::ffi::{CStr, c_void};
use std::panic::AssertUnwindSafe;
use std::ptr::null_mut;

use laptime_load::loader::BatchArray;
use laptime_load::pack::Element;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;

/// `kDLCPU`, and its only device.
pub(super) const CPU: (i32, i32) = (1, 0);

/// `DLDevice`.
#[repr(C)]
struct Device {
    kind: i32,
    index: i32,
}

/// `DLDataType`.
#[repr(C)]
struct DataType {
    code: u8,
    bits: u8,
    lanes: u16,
}

/// `DLTensor`.
#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device: Device,
    dimensions: i32,
    kind: DataType,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

/// `DLManagedTensor`, which every version of every library knows.
#[repr(C)]
struct ManagedTensor {
    tensor: Tensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut ManagedTensor)>,
}

/// `DLPackVersion`.
#[repr(C)]
struct Version {
    major: u32,
    minor: u32,
}

/// `DLManagedTensorVersioned`, which can say that the memory may be written to.
#[repr(C)]
struct VersionedTensor {
    version: Version,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut VersionedTensor)>,
    flags: u64,
    tensor: Tensor,
}

/// A managed tensor, first, with what it points to.
#[repr(C)]
struct Held<T> {
    managed: T,
    /// Shape, then strides, in elements.
    extents: Vec<i64>,
    /// What the tensor's data belongs to.
    _array: BatchArray,
}

/// One of the two structures that a capsule may hold.
trait Managed: Sized {
    /// What the capsule is called until somebody takes its tensor over.
    const NAME: &'static CStr;

    fn new(tensor: Tensor) -> Self;

    fn tensor(&mut self) -> &mut Tensor;
}

impl Managed for ManagedTensor {
    const NAME: &'static CStr = c"dltensor";

    fn new(tensor: Tensor) -> Self {
        Self { tensor, context: null_mut(), deleter: Some(give_back) }
    }

    fn tensor(&mut self) -> &mut Tensor {
        &mut self.tensor
    }
}

impl Managed for VersionedTensor {
    const NAME: &'static CStr = c"dltensor_versioned";

    fn new(tensor: Tensor) -> Self {
        let version = Version { major: 1, minor: 0 };
        Self { version, context: null_mut(), deleter: Some(give_back), flags: 0, tensor }
    }

    fn tensor(&mut self) -> &mut Tensor {
        &mut self.tensor
    }
}

/// Called once with a tensor that is not needed any more, in any thread.
unsafe extern "C" fn give_back<T: Managed>(managed: *mut T) {
    // No unwinding may leave a function that C calls.
    let _ = std::panic::catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: `make` made the tensor as the first field of this box, and nobody has given it back before.
        drop(unsafe { Box::from_raw(managed.cast::<Held<T>>()) });
    }));
}

/// Called with a capsule that goes: what nobody took over is given back here.
unsafe extern "C" fn destroy<T: Managed>(capsule: *mut PyObject) {
    // SAFETY: Python passes the living capsule. Whoever takes the tensor over gives the capsule another name.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, T::NAME.as_ptr()) == 1 {
            give_back(ffi::PyCapsule_GetPointer(capsule, T::NAME.as_ptr()).cast::<T>());
        }
    }
}

/// A capsule with the array as `DLManagedTensor`.
pub(super) fn capsule(py: Python<'_>, array: BatchArray) -> PyResult<Bound<'_, PyAny>> {
    make::<ManagedTensor>(py, array)
}

/// A capsule with the array as `DLManagedTensorVersioned`, which says that it may be written to.
pub(super) fn versioned_capsule(py: Python<'_>, array: BatchArray) -> PyResult<Bound<'_, PyAny>> {
    make::<VersionedTensor>(py, array)
}

fn make<T: Managed>(py: Python<'_>, array: BatchArray) -> PyResult<Bound<'_, PyAny>> {
    let dimensions = array.shape.len();
    let tensor = Tensor {
        data: array.pointer().cast(),
        device: Device { kind: CPU.0, index: CPU.1 },
        dimensions: dimensions as i32,
        kind: data_type(array.element),
        shape: null_mut(),
        strides: null_mut(),
        byte_offset: 0,
    };
    let mut held = Box::new(Held { managed: T::new(tensor), extents: extents(&array.shape), _array: array });
    let extents = held.extents.as_mut_ptr();
    held.managed.tensor().shape = extents;
    held.managed.tensor().strides = extents.wrapping_add(dimensions);
    let managed = Box::into_raw(held).cast::<T>();
    // SAFETY: the capsule owns the box from here on; without a capsule it is given back at once.
    unsafe {
        let capsule = ffi::PyCapsule_New(managed.cast(), T::NAME.as_ptr(), Some(destroy::<T>));
        if capsule.is_null() {
            give_back(managed);
        }
        Bound::from_owned_ptr_or_err(py, capsule)
    }
}

/// The shape and the strides of an array whose last dimension varies fastest.
fn extents(shape: &[usize]) -> Vec<i64> {
    let mut extents = vec![1; 2 * shape.len()];
    let mut stride = 1;
    for (place, &extent) in shape.iter().enumerate().rev() {
        extents[place] = extent as i64;
        extents[shape.len() + place] = stride;
        stride *= extent as i64;
    }
    extents
}

/// The type as DLPack says it: 0 for signed numbers, 1 for unsigned ones, 2 for floating point, 6 for booleans.
fn data_type(element: Element) -> DataType {
    let code = match element {
        Element::I8 | Element::I16 | Element::I32 | Element::I64 => 0,
        Element::U8 | Element::U16 | Element::U32 | Element::U64 => 1,
        Element::F16 | Element::F32 | Element::F64 => 2,
        Element::Bool => 6,
        // A new one is opaque, which every library refuses.
        _ => 3,
    };
    DataType { code, bits: (element.bytes() * 8) as u8, lanes: 1 }
}
