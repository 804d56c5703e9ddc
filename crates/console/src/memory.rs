//! Memory of this process.

use lydite_families::TargetSpec;

/// Keeps the kernel from giving this process huge pages if it is the client of a server or of `null:`.
///
/// The allocator asks for huge pages (2 MB on most processors) for all memory that it reserves. A database
/// within this process takes less processor time with them. A client needs little memory, but each of its threads begins
/// an area for each size of objects, and each of these areas would be a huge page: about 10 MB for each session.
///
/// Programs that this process starts inherit the setting. So a process with a driver keeps its huge pages: the driver may
/// hold a database.
pub fn suit(target: &TargetSpec) {
    if target.has_server() || !target.stores() {
        forgo_huge_pages();
    }
}

#[cfg(target_os = "linux")]
fn forgo_huge_pages() {
    let (yes, unused): (libc::c_ulong, libc::c_ulong) = (1, 0);
    // SAFETY: this request takes numbers, and affects only later allocations of pages.
    // An old kernel that rejects it goes on to give huge pages, which only costs memory.
    let _ = unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, yes, unused, unused, unused) };
}

/// Does nothing: on other systems the allocator asks for no huge pages.
#[cfg(not(target_os = "linux"))]
fn forgo_huge_pages() {}
