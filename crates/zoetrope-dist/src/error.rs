//! What can go wrong between ranks. Every error names the rank that reports it and the
//! communication in which it was noticed.

use zoetrope_tensor::CudaError;

use crate::site::Site;
use crate::watch::Verdict;

/// A communication that failed. After the first one, every later call of the same rank fails with
/// the same error.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DistError {
    /// A rank ended or hangs; no rank can continue.
    #[error("rank {rank}{}: {verdict}", in_site(site))]
    Lost {
        /// The rank that reports it.
        rank: usize,
        /// Where it noticed; None outside of a communication.
        site: Option<Site>,
        /// Who is lost, how, and where everyone was.
        verdict: Box<Verdict>,
    },
    /// A rank sent something else than another one expects: they disagree about what they do.
    #[error("rank {rank} in {site}: expected {expected} from rank {peer}, got {got}")]
    Mismatch {
        /// The rank that reports it.
        rank: usize,
        /// Where it noticed.
        site: Site,
        /// The rank that sent.
        peer: usize,
        /// What should have come.
        expected: String,
        /// What came.
        got: String,
    },
    /// A call that cannot be right, refused before anything was sent.
    #[error("rank {rank} in {site}: {what} must be {expected}, but is {got}")]
    Argument {
        /// The rank that was called.
        rank: usize,
        /// What was called.
        site: Site,
        /// Which argument.
        what: &'static str,
        /// What it must be.
        expected: String,
        /// What it is.
        got: String,
    },
    /// A GPU, or its link with those of other ranks, failed.
    #[error("rank {rank}{}: {source}", in_site(site))]
    Gpu {
        /// The rank that reports it.
        rank: usize,
        /// Where; None outside of a communication.
        site: Option<Site>,
        /// What the GPU or NCCL says.
        source: CudaError,
    },
    /// A function of MPI failed.
    #[error("rank {rank}{}: {function}: {message}", in_site(site))]
    Mpi {
        /// The rank that reports it.
        rank: usize,
        /// Where; None while starting or finishing.
        site: Option<Site>,
        /// The function of MPI.
        function: &'static str,
        /// What MPI says.
        message: String,
    },
    /// No MPI library can be used.
    #[error(
        "no MPI library can be used ({}); install Open MPI or MPICH, or name the library in \
         ZOETROPE_MPI_LIBRARY", tried.join("; ")
    )]
    NoMpi {
        /// What was tried, and why it did not do.
        tried: Vec<String>,
    },
    /// The ranks of a job did not come up.
    #[error("rank {rank}: {message}")]
    Start {
        /// The rank that reports it.
        rank: usize,
        /// What is wrong.
        message: String,
    },
    /// The channel on which ranks watch each other could not be set up.
    #[error("rank {rank}: cannot watch the other ranks: {message}")]
    Channel {
        /// The rank that reports it.
        rank: usize,
        /// What failed.
        message: String,
    },
}

fn in_site(site: &Option<Site>) -> String {
    site.map_or_else(String::new, |site| format!(" in {site}"))
}

/// Why a job of several ranks failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure<E> {
    /// The work of a rank failed by itself, and the others were stopped for it.
    #[error("rank {rank}: {error}")]
    Returned {
        /// The rank.
        rank: usize,
        /// Its error.
        error: E,
    },
    /// A rank panicked, ended or hung, or communication failed.
    #[error(transparent)]
    Lost(#[from] DistError),
}
