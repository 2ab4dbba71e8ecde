import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { buildWorker } from '../scripts/build-worker.mjs'
import { median } from './activation.mjs'
import { withHub } from './hub.mjs'
import { readCpuMs, withWorker } from './miniflare.mjs'

/** `bundle.gzip_kib`: the script that is uploaded. */
export async function measureBundle() {
  const script = readFileSync(join(await buildWorker(), 'worker', 'worker.js'))
  const kib = gzipSync(script).length / 1024
  return [{ name: 'bundle.gzip_kib', value: Number(kib.toFixed(1)), unit: 'KiB' }]
}

/**
 * `startup.cpu_ms`: CPU of workerd from its start until the hub has answered /healthz, less what a
 * Worker that does nothing costs; the median.
 *
 * @param {number} rounds
 */
export async function measureStartup(rounds) {
  const ours = []
  const empty = []
  for (let round = 0; round < rounds; round++) {
    ours.push(await withHub({}, async (hub) => readCpuMs(hub.workerdPid)))
    empty.push(
      await withWorker(nothing, { AGENTS: 'Nothing' }, (_url, pid) =>
        Promise.resolve(readCpuMs(pid)),
      ),
    )
  }
  return [{ name: 'startup.cpu_ms', value: median(ours) - median(empty), unit: 'ms' }]
}

const nothing = `
import { DurableObject } from 'cloudflare:workers'
export class Nothing extends DurableObject {}
export default { fetch: () => new Response('nothing') }`
