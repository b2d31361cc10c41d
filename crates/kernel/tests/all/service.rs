//! Replacing, and the defaults of network namespaces, in a network namespace of their own.

use std::fs;

use crate::support::{
    Unload, available, connect, enter_own_namespace, eventually, has_kernel, listener, params, select,
    suffix, transfer,
};
use fairpace_kernel::{
    Entry, LoadOptions, Object, Status, default, former_default, list, load, parameters, replace,
    restore_default, set_default, users,
};

/// Bytes.
const MB: usize = 1 << 20;

fn entries(name: &str) -> Vec<Entry> {
    list().expect("root may").into_iter().filter(|entry| entry.name == name).collect()
}

fn sockets(entry: &Entry) -> usize {
    users(std::slice::from_ref(entry)).expect("root may")[0].total()
}

#[test]
fn new_sockets_get_what_replaced_an_algorithm_and_open_ones_lose_nothing() {
    if !has_kernel() {
        return;
    }
    enter_own_namespace();
    let options = LoadOptions { suffix: suffix(), pin: true };
    let mut params = params("bbq");
    let loaded = load(&params, &options).unwrap_or_else(|e| panic!("{e}"));
    let _unload = Unload(loaded.kernel_name().to_owned());
    let name = loaded.kernel_name().to_owned();
    let listener = listener();
    let (mut sender, mut receiver) = connect(&listener, &name);
    transfer(&mut sender, &mut receiver, MB);
    assert_eq!(entries(&name).iter().map(sockets).collect::<Vec<_>>(), [1]);

    params.set("alpha", "4ms").expect("in range");
    replace(&Object::listed(&params).expect("built"), &options).unwrap_or_else(|e| panic!("{e}"));
    drop(loaded);
    let both = entries(&name);
    let is_pinned = |entry: &&Entry| matches!(entry.status, Status::Pinned(_));
    let new = both.iter().find(is_pinned).expect("it stays pinned");
    let old = both.iter().find(|entry| entry.status == Status::Draining).expect("a socket uses it");
    assert_eq!(parameters(new).expect("root may").as_deref(), Some(params.as_bytes()));
    assert_ne!(parameters(old).expect("root may"), parameters(new).expect("root may"));
    assert_eq!((sockets(old), sockets(new)), (1, 0));
    assert!(available().contains(&name), "the name is offered all the time");

    transfer(&mut sender, &mut receiver, MB);
    let (mut second, mut its_receiver) = connect(&listener, &name);
    transfer(&mut second, &mut its_receiver, MB);
    assert_eq!((sockets(old), sockets(new)), (1, 1));
    // the same name again is other code: the socket changes over
    select(&sender, &name);
    transfer(&mut sender, &mut receiver, MB);
    eventually("the old one goes with its last socket", || entries(&name).len() == 1);
    assert_eq!(entries(&name).iter().map(sockets).collect::<Vec<_>>(), [2]);
}

#[test]
fn what_is_not_pinned_cannot_be_replaced() {
    if !has_kernel() {
        return;
    }
    let options = LoadOptions { suffix: suffix(), pin: true };
    let object = Object::listed(&params("reno")).expect("built");
    let error = replace(&object, &options).expect_err("nothing is there");
    assert!(error.to_string().contains("is not loaded"), "{error}");
    assert!(entries(&options.kernel_name(params("reno").algorithm())).is_empty(), "nothing was left behind");
}

#[test]
fn the_default_before_ours_comes_back_and_is_remembered_once() {
    if !has_kernel() {
        return;
    }
    enter_own_namespace();
    let options = LoadOptions { suffix: suffix(), pin: true };
    let [first, second] = ["reno", "cubic"].map(|name| {
        let loaded = load(&params(name), &options).unwrap_or_else(|e| panic!("{e}"));
        Unload(loaded.kernel_name().to_owned())
    });
    let before = default().expect("it is there");
    set_default("reno").expect("the kernel's own");
    assert_eq!(former_default().expect("root may"), None, "nothing of ours was there");
    for name in [&first.0, &second.0, &first.0] {
        let change = set_default(name).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(
            (change.after.as_str(), default().expect("there").as_str()),
            (name.as_str(), name.as_str())
        );
        assert_eq!(former_default().expect("root may").as_deref(), Some("reno"));
    }
    let change = restore_default().expect("reno is offered").expect("the default was ours");
    assert_eq!((change.before, change.after, change.instead_of), (first.0.clone(), "reno".to_owned(), None));
    assert_eq!(former_default().expect("root may"), None);
    assert_eq!(restore_default().expect("nothing to do"), None);
    let error = set_default("fp_nonesuch").expect_err("nothing offers it");
    assert!(error.to_string().contains("fp_nonesuch") && error.to_string().contains("reno"), "{error}");
    assert_eq!(default().expect("it is there"), "reno");
    set_default(&before).expect("it was there");
}

/// Where the machine's default is another one than CUBIC, a network namespace may not have CUBIC.
#[test]
fn an_unknown_former_default_becomes_one_that_the_namespace_may_have() {
    if !has_kernel() {
        return;
    }
    enter_own_namespace();
    let options = LoadOptions { suffix: suffix(), pin: true };
    let loaded = load(&params("reno"), &options).unwrap_or_else(|e| panic!("{e}"));
    let _unload = Unload(loaded.kernel_name().to_owned());
    // not by set_default, so that nothing remembers what was there
    let path = "/proc/sys/net/ipv4/tcp_congestion_control";
    fs::write(path, loaded.kernel_name()).expect("any user may select it");
    let change = restore_default().expect("reno is offered in each").expect("the default was ours");
    assert_eq!(change.before, loaded.kernel_name());
    assert!(["cubic", "reno"].contains(&change.after.as_str()), "{change:?}");
    assert_eq!(default().expect("it is there"), change.after);
}
