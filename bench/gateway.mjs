import { fileURLToPath } from 'node:url'
import { median } from './activation.mjs'
import { bundle, readCpuMs, withWorker } from './miniflare.mjs'

/**
 * `gateway.cpu_ms`: what the gateway adds to one tool call, median of five rounds of both ways.
 * `gateway.cpu_ms.many`: the same with a thousand tools of other servers and a policy of 150 lines.
 * @param {number} scale
 */
export async function measureGateway(scale) {
  const code = await bundle(fileURLToPath(new URL('./gateway-worker.ts', import.meta.url)))
  return withWorker(code, {}, async (url, pid) => {
    const n = Math.round(20_000 * scale)
    const measure = async (/** @type {string} */ way) => {
      const before = readCpuMs(pid)
      const response = await fetch(`${url}?n=${n}&way=${way}`)
      const { right } = JSON.parse(await response.text())
      if (right !== n) throw new Error(`${right} of ${n} calls gave the right sum`)
      return (readCpuMs(pid) - before) / n
    }
    for (const way of ['direct', 'gateway', 'many']) await measure(way)
    const added = []
    const addedOfMany = []
    for (let round = 0; round < 5; round++) {
      const direct = await measure('direct')
      added.push((await measure('gateway')) - direct)
      addedOfMany.push((await measure('many')) - direct)
    }
    return [
      { name: 'gateway.cpu_ms', value: median(added), unit: 'ms' },
      { name: 'gateway.cpu_ms.many', value: median(addedOfMany), unit: 'ms' },
    ]
  })
}
