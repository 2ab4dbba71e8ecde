// One Worker on Miniflare, and what its workerd process costs, read from /proc.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'
import { convertV4MiniflareOptions, Miniflare } from 'miniflare'

/** Milliseconds of CPU (user and system) a process has used; ticks are 10 ms on Linux. */
export function readCpuMs(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

/** Kilobytes of memory a process holds. */
export const readRssKb = (pid) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1])

/** Process ids of the workerd children of this process. */
export function findWorkerd() {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const parent = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')[1]
        return (
          parent === String(process.pid) &&
          readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('workerd')
        )
      } catch {
        return false
      }
    })
    .map(Number)
}

/** Bundles a Worker's entry as the deployed one is bundled. */
export async function bundle(entry) {
  const result = await build({
    entryPoints: [entry],
    bundle: true,
    format: 'esm',
    write: false,
    platform: 'neutral',
    mainFields: ['module', 'main'],
    conditions: ['workerd', 'worker', 'browser', 'import'],
    external: ['cloudflare:*', 'node:*'],
    target: 'es2022',
    logLevel: 'error',
  })
  return result.outputFiles[0].text
}

/** A file system in memory, where there is one. */
export const memoryDir = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

/** Runs `measure(url, pid)` against a Worker with its own empty storage in `parent`, then removes both. */
export async function withWorker(contents, durableObjects, measure, parent = tmpdir()) {
  const storage = mkdtempSync(join(parent, 'rookery-bench-'))
  const known = findWorkerd()
  const options = convertV4MiniflareOptions({
    modules: [{ type: 'ESModule', path: 'worker.mjs', contents }],
    compatibilityDate: '2026-06-11',
    compatibilityFlags: ['nodejs_compat', 'global_fetch_strictly_public'],
    host: '127.0.0.1',
    port: 0,
    durableObjects: Object.fromEntries(
      Object.entries(durableObjects).map(([name, className]) => [
        name,
        { className, useSQLite: true },
      ]),
    ),
  })
  const miniflare = new Miniflare({ ...options, resourcePersistencePath: storage })
  try {
    const url = await miniflare.ready
    const pid = findWorkerd().find((each) => !known.includes(each))
    return await measure(url, pid)
  } finally {
    await miniflare.dispose()
    rmSync(storage, { recursive: true, force: true })
  }
}
