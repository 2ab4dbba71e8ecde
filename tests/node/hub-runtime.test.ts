import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildWorker } from '../../scripts/build-worker.mjs'
import { type Hub, startHub } from '../../scripts/hub-runtime.mjs'

const folder = mkdtempSync(join(tmpdir(), 'rookery-runtime-'))
const stateDir = (name: string) => join(folder, name)
const answers = (hub: Hub) =>
  fetch(`${hub.url}/healthz`).then(
    ({ status }) => status === 200,
    () => false,
  )

let bundlePath = ''
beforeAll(async () => {
  bundlePath = await buildWorker()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('the hub as a part of a test', () => {
  test('two hubs in one process: killing one leaves the other', async () => {
    const first = await startHub({ stateDir: stateDir('first'), bundlePath })
    const second = await startHub({ stateDir: stateDir('second'), bundlePath })
    expect(first.workerdPid).not.toBe(second.workerdPid)
    await first.kill()
    expect([await answers(first), await answers(second)]).toEqual([false, true])

    const again = await startHub({ stateDir: stateDir('first'), bundlePath })
    expect(again.adminKey).toBe(first.adminKey)
    await again.stop()
    await second.stop()
    expect([await answers(again), await answers(second)]).toEqual([false, false])
  })

  test('settings reach the Worker, and only those that were given', async () => {
    const env = { ROOKERY_PUBLIC: 'false', ROOKERY_ADMIN_KEY: 'given_key_0123456789' }
    const hub = await startHub({ stateDir: stateDir('private'), bundlePath, env })
    expect(hub.adminKey).toBe(env.ROOKERY_ADMIN_KEY)
    expect((await fetch(`${hub.url}/api/v1/posts`)).status).toBe(401)
    const headers = { authorization: `Bearer ${hub.adminKey}` }
    expect((await fetch(`${hub.url}/api/v1/posts`, { headers })).status).toBe(200)
    await hub.stop()
  })

  test('an unchanged Worker is not built again', async () => {
    expect(await buildWorker()).toBe(bundlePath)
  })
})
