/**
 * Replaces this process by itself with a fixed trim threshold of glibc's allocator, unless it has one. By default
 * the allocator raises that threshold after large blocks and keeps what is freed below it (mallopt(3)); the
 * launcher of a hub kept 100 MiB of its start that way. The variable counts only when a process begins.
 */
export function returnFreedMemory() {
  if (process.platform !== 'linux' || !process.execve || process.env[variable]) return
  const args = [process.execPath, ...process.execArgv, ...process.argv.slice(1)]
  process.execve(process.execPath, args, { ...process.env, [variable]: String(thresholdBytes) })
}

const variable = 'MALLOC_TRIM_THRESHOLD_'
/** The one with which the allocator begins. */
const thresholdBytes = 128 * 1024
