//! A machine with a disk in memory.
//!
//! What disks promise: the bytes of a file are safe once they are flushed, its name once its folder
//! is. Names that were changed since may each be the old or the new one after a power cut, in any
//! combination; a rename within a folder is one change.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::Path;

use crate::checkpoint::{CheckpointStore, FileLayer};

type Inode = usize;

#[derive(Clone)]
enum Node {
    File(Vec<u8>),
    Folder,
}

/// Names of a folder that change together.
#[derive(Clone, Debug)]
pub(super) struct Change {
    folder: Inode,
    names: Vec<(String, Option<Inode>)>,
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
}

impl Machine {
    /// A machine with an empty folder `run`.
    pub(super) fn new() -> Self {
        let tree: Tree = [(0, BTreeMap::new())].into();
        let mut machine = Self {
            nodes: vec![Node::Folder],
            seen: tree.clone(),
            safe: tree,
            pending: vec![],
            left: usize::MAX,
        };
        machine.add(0, "run".into(), Node::Folder);
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
        apply(&mut self.seen, &Change { folder, names: names.clone() });
        self.pending.push(Change { folder, names });
    }

    fn add(&mut self, folder: Inode, name: String, node: Node) -> Inode {
        let inode = self.nodes.len();
        if matches!(node, Node::Folder) {
            self.seen.insert(inode, BTreeMap::new());
            self.safe.insert(inode, BTreeMap::new());
        }
        self.nodes.push(node);
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
        let mut safe = self.safe.clone();
        for (_, change) in self.pending.iter().enumerate().filter(|(index, _)| reached(*index)) {
            apply(&mut safe, change);
        }
        Self {
            seen: safe.clone(),
            safe,
            pending: vec![],
            left: usize::MAX,
            nodes: self.nodes.clone(),
        }
    }
}

fn apply(tree: &mut Tree, change: &Change) {
    let folder = tree.get_mut(&change.folder).expect("folders are never forgotten");
    for (name, inode) in &change.names {
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
                    machine.add(parent, name, Node::Folder);
                }
            }
            Ok(())
        })
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.operate(|machine| {
            let (parent, name) = machine.place(path)?;
            machine.add(parent, name, Node::File(bytes.to_vec()));
            Ok(())
        })
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        self.operate(|machine| {
            let folder = machine.find(path)?;
            let names = machine.seen[&folder].clone();
            machine.safe.insert(folder, names);
            machine.pending.retain(|change| change.folder != folder);
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
            Node::File(bytes) if bytes.len() as u64 <= most => Ok(bytes.clone()),
            _ => Err(ErrorKind::FileTooLarge.into()),
        })
    }
}

/// The hash of the newest whole checkpoint on a machine.
pub(super) fn found(machine: Machine) -> Option<String> {
    let store = CheckpointStore::with_files("run/checkpoints", 1, Modelled(RefCell::new(machine)));
    store.load_latest().unwrap().map(|restored| restored.state_hash)
}
