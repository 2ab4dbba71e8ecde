import { abortAllDurableObjects } from 'cloudflare:test'
import { beforeAll, expect, test } from 'vitest'
import {
  call,
  createAccount,
  listComments,
  post,
  waitForReply,
  waitForValue,
} from '../support/cast'
import { createAgent } from '../support/create-agent'
import type { FakeRequest } from '../support/fake-model-server'

/** What an agent was given in a direct message, and what runs for others see of it. */
let alice: Awaited<ReturnType<typeof createAccount>>
let bob: Awaited<ReturnType<typeof createAccount>>

beforeAll(async () => {
  alice = await createAccount('alice')
  bob = await createAccount('bob')
})

const secret = 'tulip-4711'
const grants = ['hub:read', 'memory:read', 'memory:write', 'workspace:read', 'workspace:write']

/** Writes a direct message and waits for the answer. */
async function ask(key: string, to: string, message: string): Promise<string> {
  const sent = await call<{ conversation: { id: string } }>('POST', '/api/v1/conversations', {
    key,
    body: { to, content: message },
  })
  expect(sent.status).toBe(201)
  const path = `/api/v1/conversations/${sent.body.conversation.id}/messages`
  return waitForValue(async () => {
    const { body } = await call<{ messages: { from: { name: string }; content: string }[] }>(
      'GET',
      path,
      { key },
    )
    const last = body.messages.at(-1)
    return last?.from.name === to && last.content
  }, 'the answer')
}

const textOf = (requests: FakeRequest[]) =>
  JSON.stringify(requests.map(({ body }) => body.messages))

/** Saves what a direct message says: as a fact, as a task and as a file. */
const saving = {
  calls: [
    { name: 'memory_remember_fact', arguments: { text: `The code of alice is ${secret}.` } },
    { name: 'memory_add_task', arguments: { text: `Change ${secret} in May.` } },
    {
      name: 'workspace_write_file',
      arguments: { path: 'codes.md', content: `alice: ${secret}` },
    },
  ],
}

/** Looks at everything that the agent has saved. */
const looking = {
  calls: [
    { name: 'memory_list_facts', arguments: {} },
    { name: 'workspace_list_files', arguments: {} },
    { name: 'workspace_read_file', arguments: { path: 'codes.md' } },
  ],
}

test('T2: what Alice had an agent save by direct message is not in a run for Bob', async () => {
  const keeper = await createAgent(
    'keeper',
    [saving, { text: 'Saved.' }, looking, { text: 'Nothing.' }, looking, { text: 'Here.' }],
    { grants },
  )
  expect(await ask(alice.key, 'keeper', `Keep my code ${secret}`)).toContain('Saved.')
  const before = (await keeper.requests()).length
  // all objects restart, so that only what is stored counts
  await abortAllDurableObjects()

  const asked = await post(bob.key, 'Codes', '@keeper what codes do you know?')
  await waitForReply(asked, 'keeper')
  const forBob = (await keeper.requests()).slice(before)
  expect(forBob).toHaveLength(2)
  expect(textOf(forBob)).toContain('There is no such file')
  expect(textOf(forBob)).not.toContain(secret)
  expect(textOf(forBob)).not.toContain('codes.md",')

  // Alice has it back, in her own runs.
  await ask(alice.key, 'keeper', 'What do you keep for me?')
  const forAlice = (await keeper.requests()).slice(before + 2)
  expect(forAlice).toHaveLength(2)
  expect(textOf(forAlice.slice(0, 1))).toContain(`The code of alice is ${secret}.`)
  expect(textOf(forAlice.slice(0, 1))).toContain(`Change ${secret} in May.`)
  expect(textOf(forAlice)).toContain(`alice: ${secret}`)
})

test('T2: what a public run for Alice has read is not history for Bob in the same thread', async () => {
  const clerk = await createAgent(
    'clerk',
    [saving, { text: 'Saved.' }, looking, { text: 'It is safe.' }, { text: 'Ask her.' }],
    { grants },
  )
  await ask(alice.key, 'clerk', `Keep my code ${secret}`)
  const thread = await post(alice.key, 'Check', '@clerk is my code safe?')
  expect((await waitForReply(thread, 'clerk')).content).toContain('It is safe.')
  expect(textOf((await clerk.requests()).slice(2))).toContain(secret)
  const before = (await clerk.requests()).length

  await call('POST', `/api/v1/posts/${thread}/comments`, {
    key: bob.key,
    body: { content: '@clerk what is the code?' },
  })
  await waitForValue(
    async () => (await listComments(thread)).filter(({ author }) => author === 'clerk').length > 1,
    'the second answer',
  )
  const forBob = (await clerk.requests()).slice(before)
  expect(forBob).toHaveLength(1)
  expect(textOf(forBob)).toContain('It is safe.')
  expect(textOf(forBob)).not.toContain(secret)
})
