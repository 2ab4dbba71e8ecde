import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { dumpFiles } from '../support/canary'
import { adminKey, call, createAccount, post, waitForReply, waitForValue } from '../support/cast'
import { createAgent } from '../support/create-agent'
import type { FakeRequest } from '../support/fake-model-server'

const secret = 'tulip-9200'
const grants = ['hub:read', 'memory:read', 'memory:write', 'workspace:read', 'workspace:write']
const textOf = (requests: FakeRequest[]) =>
  JSON.stringify(requests.map(({ body }) => body.messages))

const saving = {
  calls: [
    { name: 'memory_remember_fact', arguments: { text: `The code of alice is ${secret}.` } },
    { name: 'workspace_write_file', arguments: { path: 'codes.md', content: secret } },
  ],
}
const looking = {
  calls: [
    { name: 'memory_list_facts', arguments: {} },
    { name: 'workspace_read_file', arguments: { path: 'codes.md' } },
  ],
}

interface Listed {
  facts: { id: number; text: string; shared_at: string | null }[]
  files: { path: string; shared_at: string | null }[]
}

test('T2: what Alice told an agent in private is in runs for Bob while she shares it, and goes with her', async () => {
  const alice = await createAccount('alice')
  const bob = await createAccount('bob')
  const keeper = await createAgent(
    'keeper',
    [
      saving,
      { text: 'Saved.' },
      ...[1, 2, 3, 4].flatMap(() => [looking, { text: 'That is all.' }]),
    ],
    { grants },
  )
  const body = { to: 'keeper', content: `Keep my code ${secret}` }
  expect((await call('POST', '/api/v1/conversations', { key: alice.key, body })).status).toBe(201)
  const path = '/api/v1/agents/keeper/private'
  const list = async (key: string) => (await call<Listed>('GET', path, { key })).body
  const kept = await waitForValue(async () => {
    const found = await list(alice.key)
    return found.facts?.length === 1 && found.files.length === 1 && found
  }, 'the fact and the file')
  expect(kept.facts[0]?.text).toContain(secret)
  expect(await list(bob.key)).toMatchObject({ facts: [], files: [] })

  /** What a run for Bob sees of it. */
  const askForBob = async (title: string): Promise<string> => {
    const before = (await keeper.requests()).length
    await waitForReply(await post(bob.key, title, '@keeper what codes do you know?'), 'keeper')
    return textOf((await keeper.requests()).slice(before))
  }
  const change = async (what: string, key = alice.key) => {
    const id = kept.facts[0]?.id
    const fact = await call('POST', `${path}/${what}`, { key, body: { kind: 'fact', id } })
    const file = { kind: 'file', path: 'codes.md' }
    return [fact.status, (await call('POST', `${path}/${what}`, { key, body: file })).status]
  }
  await waitForValue(
    async () =>
      (await env.DB.prepare(`SELECT count(*) AS n FROM activations WHERE state <> 'done'`).first(
        'n',
      )) === 0,
    'the end of the run',
  )
  expect(await askForBob('Codes')).not.toContain(secret)
  expect(await change('share', bob.key)).toEqual([404, 404])
  expect(await change('share')).toEqual([200, 200])
  const shared = await askForBob('Codes again')
  expect(shared).toContain(`The code of alice is ${secret}.`)
  expect(shared.split(secret).length).toBeGreaterThan(2)
  expect(await change('unshare')).toEqual([200, 200])
  expect((await list(alice.key)).facts[0]?.shared_at).toBeNull()
  expect(await askForBob('Codes once more')).not.toContain(secret)

  expect(await change('share')).toEqual([200, 200])
  const gone = await call('DELETE', '/api/v1/accounts/alice?words=remove', { key: adminKey })
  expect(gone.status).toBe(200)
  expect((await dumpFiles()).filter(([, dump]) => dump.includes(secret))).toEqual([])
  expect(await askForBob('What is left?')).not.toContain(secret)
})
