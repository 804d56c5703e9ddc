//! Memory of this process.

use lydite_families::TargetSpec;

/// Keeps the kernel from giving this process huge pages if it is the client of a server, or of nothing at all.
///
/// The allocator asks for huge pages (2 MB on most processors) for all that it reserves. A database within this process
/// takes a fifth less processor time with them. A client needs little, but each of its threads begins an area for each
/// size of objects, and each of these areas would be a huge page: about 10 MB for each session.
///
/// Programs that this process starts inherit the setting, so clients of drivers do without it.
pub(crate) fn suit(target: &TargetSpec) {
    if target.has_server() || !target.stores() {
        forgo_huge_pages();
    }
}

#[cfg(target_os = "linux")]
fn forgo_huge_pages() {
    let (yes, unused): (libc::c_ulong, libc::c_ulong) = (1, 0);
    // SAFETY: this request takes a number and changes nothing but how memory is made available from now on.
    // A kernel that does not know it gives huge pages: more memory, and nothing else.
    let _ = unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, yes, unused, unused, unused) };
}

/// Elsewhere the allocator asks for none.
#[cfg(not(target_os = "linux"))]
fn forgo_huge_pages() {}
