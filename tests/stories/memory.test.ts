import { abortAllDurableObjects } from 'cloudflare:test'
import { afterEach, beforeAll, expect, test, vi } from 'vitest'
import {
  adminKey,
  call,
  createAccount,
  listComments,
  post,
  waitForReply,
  waitForValue,
} from '../support/cast'
import { createAgent } from '../support/create-agent'
import type { FakeRequest } from '../support/fake-model-server'

/** An agent with memory: two tasks, days apart. The provider is a server over HTTP. */
let mira: Awaited<ReturnType<typeof createAccount>>

beforeAll(async () => {
  mira = await createAccount('mira')
})
afterEach(() => {
  vi.useRealTimers()
})

const dayMs = 86_400_000
const waitDays = (days: number) =>
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + days * dayMs })

/** Returns the messages of a model request, without the status at its end. */
const messagesOf = (request: FakeRequest | undefined): { role: string; content: unknown }[] =>
  (request?.body.messages ?? []).flatMap((message: { content?: unknown }) => {
    if (typeof message.content !== 'string') return [message]
    // The status is the end of the last message.
    const content = message.content.replace(/(?:^|\n\n)\[status\][\s\S]*$/, '')
    return content === '' && message.content !== '' ? [] : [{ ...message, content }]
  })
const textOf = (request: FakeRequest | undefined) => JSON.stringify(messagesOf(request))

test('L39: facts from one thread are in the prompt of another days later, also after a restart', async () => {
  const keeper = await createAgent(
    'keeper',
    [
      {
        calls: [
          {
            name: 'memory_remember_fact',
            arguments: { text: 'Mira prefers answers of one sentence.', source: '@mira' },
          },
          { name: 'memory_add_task', arguments: { text: 'Tell Mira when the herons come.' } },
        ],
      },
      { text: 'I will keep it short.' },
      { text: 'Three.' },
    ],
    { grants: ['hub:read', 'memory:read', 'memory:write'] },
  )
  const first = await post(mira.key, 'How to answer me', '@keeper one sentence at a time please')
  expect((await waitForReply(first, 'keeper')).content).toContain('keep it short')
  // All objects restart meanwhile.
  await abortAllDurableObjects()
  waitDays(3)
  const second = await post(mira.key, 'Herons', '@keeper how many herons are there?')
  expect((await waitForReply(second, 'keeper')).content).toContain('Three')

  const requests = await keeper.requests()
  expect(textOf(requests[0])).not.toContain('one sentence at a time.')
  expect(textOf(requests[0])).not.toContain('What you remember')
  const later = messagesOf(requests.at(-1))
  const remembered = later.find(({ content }) =>
    JSON.stringify(content).includes('What you remember'),
  )
  expect(remembered?.role).toBe('user')
  const noted = new Date(Date.now() - 3 * dayMs).toISOString().slice(0, 10)
  const words = JSON.stringify(remembered?.content)
  expect(words).toContain(`Mira prefers answers of one sentence. (noted ${noted}; from @mira)`)
  expect(words).toContain(`Tell Mira when the herons come. (since ${noted})`)
  // The other thread appears as one line with request and answer.
  expect(words).toContain(`${noted}: @mira in m/general (/p/${first})`)
  expect(words).toContain('I answered: @mira I will keep it short.')
})

test('L14 L39: in the same thread the earlier turn is history, and each step extends the previous prompt', async () => {
  const teller = await createAgent('teller', [
    { calls: [{ name: 'hub_search', arguments: { query: 'herons' } }] },
    { text: 'Nothing about herons yet.' },
    { calls: [{ name: 'hub_search', arguments: { query: 'heron' } }] },
    { text: 'Still nothing.' },
  ])
  const thread = await post(mira.key, 'Anything', '@teller anything about herons?')
  await waitForReply(thread, 'teller')
  waitDays(2)
  await call('POST', `/api/v1/posts/${thread}/comments`, {
    key: mira.key,
    body: { content: '@teller and now?' },
  })
  await waitForValue(
    async () => (await listComments(thread)).filter(({ author }) => author === 'teller').length > 1,
    'the second answer',
  )
  const requests = await teller.requests()
  expect(requests).toHaveLength(4)
  const [, , third, fourth] = requests
  const history = messagesOf(third).filter(({ role }) => role !== 'system')
  expect(history.map(({ role }) => role)).toEqual([
    'user',
    'assistant',
    'tool',
    'assistant',
    'user',
  ])
  expect(JSON.stringify(history[0])).toContain('anything about herons?')
  expect(JSON.stringify(history[3])).toContain('Nothing about herons yet.')
  expect(JSON.stringify(history[4])).toContain('and now?')
  const before = JSON.stringify(messagesOf(third)).slice(0, -1)
  expect(JSON.stringify(messagesOf(fourth)).startsWith(before)).toBe(true)

  const listed = await call<{ sessions: object[]; totals: object; tools: object[] }>(
    'GET',
    '/api/v1/agents/teller/sessions',
    { key: adminKey },
  )
  expect(listed.body.sessions).toMatchObject([{ id: `general_${thread}`, activations: 2 }])
  expect(listed.body.tools).toMatchObject([{ name: 'hub_search', calls: 2, errors: 0 }])
})

test('L11 L39: a history of more than 50 messages is compacted before it is shown again', async () => {
  const old = await createAgent('old', [{ text: 'They counted birds.' }, { text: 'All of them.' }])
  const thread = await post(mira.key, 'Counting', 'We count.')
  const messages = Array.from({ length: 30 }, (_, id) => [
    { role: 'user', text: `question ${id}` },
    { role: 'assistant', text: `answer ${id}` },
  ]).flat()
  const path = `/api/v1/agents/old/sessions/general_${thread}`
  const restored = await call('PUT', path, { key: adminKey, body: { messages } })
  expect(restored.status).toBe(200)
  await call('POST', `/api/v1/posts/${thread}/comments`, {
    key: mira.key,
    body: { content: '@old how many were there?' },
  })
  expect((await waitForReply(thread, 'old')).content).toContain('All of them.')

  const requests = await old.requests()
  expect(requests).toHaveLength(2)
  expect(JSON.stringify(requests[0]?.body)).toContain('question 0')
  const shown = messagesOf(requests[1]).filter(({ role }) => role !== 'system')
  expect(shown.length).toBeLessThanOrEqual(50)
  expect(JSON.stringify(shown[0])).toContain('They counted birds.')
  expect(JSON.stringify(shown)).not.toContain('question 0')
  expect(JSON.stringify(shown)).toContain('answer 29')
  const after = await call<{ session: { summary: string; messages: object[] } }>('GET', path, {
    key: adminKey,
  })
  expect(after.body.session.summary).toBe('They counted birds.')
  expect(after.body.session.messages.length).toBeLessThan(60)
  expect(JSON.stringify(after.body.session.messages.at(-1))).toContain('All of them.')
})

test('D6: an agent without memory has no history', async () => {
  const blank = await createAgent('blank', [{ text: 'One.' }, { text: 'Two.' }], {
    behavior: 'memory: { enabled: false }\n',
  })
  for (const words of ['first', 'second']) {
    const asked = await post(mira.key, words, `@blank ${words}`)
    await waitForReply(asked, 'blank')
  }
  expect(textOf((await blank.requests()).at(-1))).not.toContain('What you remember')
})

test('D5: a skill is read when the agent asks for it', async () => {
  const skilled = await createAgent(
    'skilled',
    [
      { calls: [{ name: 'skills_read_skill', arguments: { name: 'counting' } }] },
      { text: 'I know how to count now.' },
    ],
    {
      files: {
        'skills/counting/SKILL.md':
          '---\nname: counting\ndescription: How birds are counted\n---\nCount every bird twice.',
      },
    },
  )
  const asked = await post(mira.key, 'Count', '@skilled please count')
  await waitForReply(asked, 'skilled')
  const [first, second] = await skilled.requests()
  expect(textOf(first)).toContain('- counting: How birds are counted')
  expect(textOf(first)).not.toContain('Count every bird twice.')
  expect(textOf(second)).toContain('Count every bird twice.')
})

test('M3: an agent without the grant has no memory tools, and cannot call them', async () => {
  const plain = await createAgent('plain', [
    { calls: [{ name: 'memory_remember_fact', arguments: { text: 'x' } }] },
    { text: 'Well then.' },
  ])
  const asked = await post(mira.key, 'Plain', '@plain remember x')
  await waitForReply(asked, 'plain')
  const [first, second] = await plain.requests()
  const names = (first?.body.tools ?? []).map(
    (tool: { function: { name: string } }) => tool.function.name,
  )
  expect(names).not.toContain('memory_remember_fact')
  expect(textOf(second)).toContain('Missing grant memory:write')
})
