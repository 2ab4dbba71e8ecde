import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import { limits } from '../../../src/shared/config'
import type { ActivationId } from '../../../src/shared/ids'
import {
  answered,
  ended,
  loaded,
  requested,
  returned,
  toStoredLog,
  woken,
} from '../../support/run-log'
import { adminKey } from '../create-test-hub'
import { createOffice } from './create-office'

/** The record of a run that is too long for a row of the database is in object storage, whole. */
const office = createOffice()
const { hub } = office
type Person = Awaited<ReturnType<typeof hub.join>>
let tomas: Person
let scout: Person

beforeAll(async () => {
  tomas = await hub.join('tomas', 'human')
  scout = await office.createAgent('scout')
})

const secret = `sk-ant-api03-${'a1B2'.repeat(20)}`
const longText = 'heron '.repeat(limits.traceBytesMax / 3)

const recordOf = (id: ActivationId, text = longText): string =>
  toStoredLog([
    woken(id),
    loaded({ prompt: [{ role: 'user', text: `@tomas asked ${secret}` }] }),
    answered({ calls: [requested('c', 'hub_search')] }),
    returned('c', { text }),
    answered({ step: 2, startedAt: 1_100, text: 'In the reeds.' }),
    ended(),
  ])

async function begin(): Promise<ActivationId> {
  await office.post(tomas.key, '@scout where are the herons?')
  return (await office.start(scout.id)).activationId
}

const readRow = async (id: ActivationId) =>
  (
    await office.first<{ trace: string }>(
      'SELECT trace FROM activation_traces WHERE activation_id = ?',
      id,
    )
  )?.trace

const listFiles = async (id: ActivationId) =>
  (await env.FILES.list({ prefix: `archive/records/${id}/` })).objects.map(({ key }) => key)

const readTrace = async (id: ActivationId) =>
  (await hub.call(`/activations/${id}`, { key: adminKey })).body.trace

test('L43 P10: a long record is stored whole in object storage, masked and encrypted, and read from there', async () => {
  const id = await begin()
  await office.commit(scout.id, id, { trace: recordOf(id) })
  const row = await readRow(id)
  expect(row).toMatch(/^archived:/)
  expect(row?.length).toBeLessThan(1_000)
  const [key = '', ...others] = await listFiles(id)
  expect(others).toEqual([])
  expect(row).toContain(key)
  const trace = await readTrace(id)
  expect(trace.steps[0].tools[0].result).toContain('heron heron')
  expect(trace.steps[1].text).toBe('In the reeds.')
  expect(JSON.stringify(trace)).toContain('@tomas asked')
  expect(JSON.stringify(trace)).not.toContain(secret)
  const bytes = await (await env.FILES.get(key))?.bytes()
  const lines = await new Response(
    new Blob([bytes ?? new Uint8Array()]).stream().pipeThrough(new DecompressionStream('gzip')),
  ).text()
  expect(lines).toContain(id)
  expect(lines).not.toContain('heron')
})

test('L43: a record that fits into a row has no file', async () => {
  const id = await begin()
  const record = recordOf(id, 'short')
  await office.commit(scout.id, id, { trace: record.replace(secret, '') })
  expect(await readRow(id)).toBe(record.replace(secret, ''))
  expect(await listFiles(id)).toEqual([])
})

test('L43: whatever call of a commit fails, no row names a missing file, and one file is left', async () => {
  let kills = 0
  for (const isWritten of [false, true]) {
    for (let kill = 1; ; kill++) {
      const id = await begin()
      let calls = 0
      const isKilled = () => ++calls === kill
      hub.seen.findFault = () =>
        isKilled() ? { message: 'Network connection lost.', isWritten } : null
      hub.seen.beforePut = async () => {
        if (isKilled()) throw new Error('The bucket is down.')
      }
      const end = await office.commit(scout.id, id, { trace: recordOf(id) }).then(
        () => 'done',
        () => 'killed',
      )
      hub.seen.findFault = () => null
      hub.seen.beforePut = async () => {}
      const named = await readRow(id)
      if (named !== undefined) expect(await readTrace(id)).not.toBeNull()
      // as the agent's object repeats it
      const again = await office.commit(scout.id, id, { trace: recordOf(id) })
      expect(again.kind).toBe('done')
      expect((await readTrace(id)).steps[1].text).toBe('In the reeds.')
      expect(await listFiles(id)).toHaveLength(1)
      if (end === 'done') break
      kills++
    }
  }
  // the names of accounts, the file, the batch, and what is stored at the end
  expect(kills).toBe(8)
})

test('T10: the long record of a run that names a deleted account cannot be read again', async () => {
  const other = await hub.join('wren', 'human')
  await office.post(other.key, '@scout what did tomas want?')
  const { activationId: id } = await office.start(scout.id)
  await office.commit(scout.id, id, { trace: recordOf(id) })
  expect(await readTrace(id)).not.toBeNull()
  await office.run('UPDATE inbox_items SET read_at = 1 WHERE account_id = ?', scout.id)
  const path = '/accounts/tomas?words=remove'
  const { status } = await hub.call(path, { key: adminKey, method: 'DELETE' })
  expect(status).toBeLessThan(300)
  expect(await readRow(id)).toBeUndefined()
  expect(await readTrace(id)).toBeNull()
})
