pub(crate) mod contain;
pub(crate) mod guard;
pub(crate) mod thrift;
