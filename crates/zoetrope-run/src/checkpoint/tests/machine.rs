//! A machine with a disk in memory.
//!
//! What disks promise: the bytes of a file are safe once they are flushed, its name once its folder
//! is. Names that were changed since may each be the old or the new one after a power cut, and bytes may
//! be there or missing, in any combination; a rename within a folder is one change. Of a file that was
//! not flushed two parts come to the disk each by itself, so that it may be torn.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::mem::take;
use std::ops::Range;
use std::path::Path;

use crate::checkpoint::{CheckpointStore, FileLayer};

type Inode = usize;

/// What a process sees of an inode, and what is on the disk of it for certain: nothing of folders, whose
/// names are kept apart.
#[derive(Clone, Default)]
struct Node {
    is_folder: bool,
    seen: Vec<u8>,
    safe: Vec<u8>,
}

/// What comes to the disk in one piece.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// Names of a folder that change together.
    Names { folder: Inode, names: Vec<(String, Option<Inode>)> },
    /// A part of a file.
    Bytes { file: Inode, at: Range<usize> },
}

impl Change {
    /// Whether a flush of the inode brings it to the disk.
    fn is_of(&self, inode: Inode) -> bool {
        match self {
            Self::Names { folder, .. } => *folder == inode,
            Self::Bytes { file, .. } => *file == inode,
        }
    }
}

/// What folders hold, by inode.
type Tree = BTreeMap<Inode, BTreeMap<String, Inode>>;

#[derive(Clone)]
pub(super) struct Machine {
    nodes: Vec<Node>,
    /// What running processes see.
    seen: Tree,
    /// What is on the disk for certain.
    safe: Tree,
    /// What may be on the disk.
    pub(super) pending: Vec<Change>,
    /// Operations until the power goes off.
    pub(super) left: usize,
    /// Flushes so far.
    pub(super) flushes: usize,
}

impl Machine {
    /// A machine with an empty folder `run`.
    pub(super) fn new() -> Self {
        let tree: Tree = [(0, BTreeMap::new())].into();
        let mut machine = Self {
            nodes: vec![Node { is_folder: true, ..Node::default() }],
            seen: tree.clone(),
            safe: tree,
            pending: vec![],
            left: usize::MAX,
            flushes: 0,
        };
        machine.add(0, "run".into(), true);
        machine.after_cut(|_| true)
    }

    fn find(&self, path: &Path) -> io::Result<Inode> {
        path.iter().try_fold(0, |folder, name| {
            let names = self.seen.get(&folder).ok_or(ErrorKind::NotADirectory)?;
            let inode = names.get(&*name.to_string_lossy()).ok_or(ErrorKind::NotFound)?;
            Ok(*inode)
        })
    }

    /// The folder that a path lies in, and its name there.
    fn place(&self, path: &Path) -> io::Result<(Inode, String)> {
        let parent = self.find(path.parent().unwrap_or(Path::new("")))?;
        Ok((parent, path.file_name().unwrap_or_default().to_string_lossy().into_owned()))
    }

    fn change(&mut self, folder: Inode, names: Vec<(String, Option<Inode>)>) {
        apply(&mut self.seen, folder, &names);
        self.pending.push(Change::Names { folder, names });
    }

    fn add(&mut self, folder: Inode, name: String, is_folder: bool) -> Inode {
        let inode = self.nodes.len();
        if is_folder {
            self.seen.insert(inode, BTreeMap::new());
            self.safe.insert(inode, BTreeMap::new());
        }
        self.nodes.push(Node { is_folder, ..Node::default() });
        self.change(folder, vec![(name, Some(inode))]);
        inode
    }

    /// Removes the first file of a folder, as a removal that fails halfway does.
    pub(super) fn remove_first(&mut self, path: &Path) -> io::Result<()> {
        let folder = self.find(path)?;
        if let Some(name) = self.seen[&folder].keys().next().cloned() {
            self.change(folder, vec![(name, None)]);
        }
        Ok(())
    }

    /// The machine after a cut at which the chosen pending changes have reached the disk.
    pub(super) fn after_cut(&self, reached: impl Fn(usize) -> bool) -> Self {
        let (mut safe, mut nodes) = (self.safe.clone(), self.nodes.clone());
        for (_, change) in self.pending.iter().enumerate().filter(|(index, _)| reached(*index)) {
            bring(&mut safe, &mut nodes, change);
        }
        for node in &mut nodes {
            node.seen.clone_from(&node.safe);
        }
        Self { seen: safe.clone(), safe, pending: vec![], left: usize::MAX, flushes: 0, nodes }
    }

    /// Brings everything of an inode to the disk.
    fn settle(&mut self, inode: Inode) {
        self.flushes += 1;
        let (settled, pending) = take(&mut self.pending).into_iter().partition(|c| c.is_of(inode));
        self.pending = pending;
        let settled: Vec<Change> = settled;
        settled.iter().for_each(|change| bring(&mut self.safe, &mut self.nodes, change));
    }
}

/// Brings a change to the disk.
fn bring(tree: &mut Tree, nodes: &mut [Node], change: &Change) {
    match change {
        Change::Names { folder, names } => apply(tree, *folder, names),
        Change::Bytes { file, at } => {
            let node = &mut nodes[*file];
            // What is missing before it is a hole.
            node.safe.resize(node.safe.len().max(at.end), 0);
            node.safe[at.clone()].copy_from_slice(&node.seen[at.clone()]);
        }
    }
}

fn apply(tree: &mut Tree, folder: Inode, names: &[(String, Option<Inode>)]) {
    let folder = tree.get_mut(&folder).expect("folders are never forgotten");
    for (name, inode) in names {
        match inode {
            Some(inode) => drop(folder.insert(name.clone(), *inode)),
            None => drop(folder.remove(name)),
        }
    }
}

/// A file system on a [`Machine`].
pub(super) struct Modelled(pub(super) RefCell<Machine>);

impl Modelled {
    fn operate<T>(&self, act: impl FnOnce(&mut Machine) -> io::Result<T>) -> io::Result<T> {
        let mut machine = self.0.borrow_mut();
        if machine.left == 0 {
            return Err(ErrorKind::Other.into());
        }
        machine.left -= 1;
        act(&mut machine)
    }
}

impl FileLayer for Modelled {
    fn create_folder(&self, path: &Path) -> io::Result<()> {
        self.operate(|machine| {
            for folder in path.ancestors().collect::<Vec<_>>().into_iter().rev() {
                if machine.find(folder).is_err() {
                    let (parent, name) = machine.place(folder)?;
                    machine.add(parent, name, true);
                }
            }
            Ok(())
        })
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.operate(|machine| {
            let (parent, name) = machine.place(path)?;
            let file = machine.add(parent, name, false);
            machine.nodes[file].seen = bytes.to_vec();
            let (all, half) = (bytes.len(), bytes.len() / 2);
            for at in [0..half, half..all] {
                machine.pending.push(Change::Bytes { file, at });
            }
            Ok(())
        })
    }

    fn flush(&self, path: &Path) -> io::Result<()> {
        self.operate(|machine| {
            let file = machine.find(path)?;
            machine.settle(file);
            Ok(())
        })
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        self.operate(|machine| {
            let folder = machine.find(path)?;
            machine.settle(folder);
            Ok(())
        })
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.operate(|machine| {
            let inode = machine.find(from)?;
            let ((folder, old), (other, new)) = (machine.place(from)?, machine.place(to)?);
            assert_eq!(folder, other, "the protocol renames within a folder only");
            let replaced =
                machine.seen[&folder].get(&new).and_then(|inode| machine.seen.get(inode));
            if replaced.is_some_and(|names| !names.is_empty()) {
                return Err(ErrorKind::DirectoryNotEmpty.into());
            }
            machine.change(folder, vec![(old, None), (new, Some(inode))]);
            Ok(())
        })
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        self.operate(|machine| {
            let Ok(inode) = machine.find(path) else { return Ok(()) };
            let names: Vec<String> = machine.seen[&inode].keys().cloned().collect();
            names.into_iter().for_each(|name| machine.change(inode, vec![(name, None)]));
            let (parent, name) = machine.place(path)?;
            machine.change(parent, vec![(name, None)]);
            Ok(())
        })
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.operate(|machine| match machine.find(path) {
            Ok(folder) => Ok(machine.seen[&folder].keys().cloned().collect()),
            Err(_) => Ok(Vec::new()),
        })
    }

    fn read(&self, path: &Path, most: u64) -> io::Result<Vec<u8>> {
        self.operate(|machine| match &machine.nodes[machine.find(path)?] {
            node if node.is_folder => Err(ErrorKind::IsADirectory.into()),
            node if node.seen.len() as u64 <= most => Ok(node.seen.clone()),
            _ => Err(ErrorKind::FileTooLarge.into()),
        })
    }
}

/// The hash of the newest whole checkpoint on a machine.
pub(super) fn found(machine: Machine) -> Option<String> {
    let store = CheckpointStore::with_files("run/checkpoints", 1, Modelled(RefCell::new(machine)));
    store.load_latest().unwrap().map(|restored| restored.state_hash)
}
