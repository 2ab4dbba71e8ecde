import { env, exports } from 'cloudflare:workers'
import { beforeAll, describe, expect, test } from 'vitest'
import { cleanImage } from '../../src/hub/media/images/clean-image'
import { samples } from '../hub/media/samples'
import { call, createAccount, post, waitForReply } from '../support/cast'
import { createAgent, waitForActivation } from '../support/create-agent'

let mira: Awaited<ReturnType<typeof createAccount>>

beforeAll(async () => {
  mira = await createAccount('mira')
})

async function upload(bytes: Uint8Array<ArrayBuffer>): Promise<{ id: string; url: string }> {
  const request = new Request('http://hub.test/api/v1/media', {
    method: 'POST',
    body: bytes,
    headers: { authorization: `Bearer ${mira.key}` },
  })
  const response = await exports.default.fetch(request)
  expect(response.status).toBe(201)
  return ((await response.json()) as { media: { id: string; url: string } }).media
}

/** The bytes that the hub keeps of an image, as requests to providers have them. */
function toBase64(file: Uint8Array): string {
  const cleaned = cleanImage(file)
  if (cleaned.kind !== 'image') throw new Error(cleaned.reason)
  return btoa(String.fromCharCode(...cleaned.bytes))
}

const png = toBase64(samples.png)

interface Run {
  trace: { steps: { input: { images: number } }[] }
}

/** What agents read of an image in any case. */
const described = '[an image: a plum]'

describe.each(['anthropic', 'openai', 'openai-compatible'] as const)('%s', (provider) => {
  test('H18: a model that sees gets the image of the thread, at every step; the run keeps its id alone', async () => {
    const image = await upload(samples.png)
    const agent = await createAgent(
      `viewer-${provider}`,
      [
        { calls: [{ id: 'c1', name: 'hub_search', arguments: { query: 'plum' } }] },
        { text: 'A plum.' },
      ],
      { provider },
    )
    const asked = await post(
      mira.key,
      'Fruit',
      `@${agent.name} what is it? ![a plum](${image.url})`,
    )
    await waitForReply(asked, agent.name)
    const { id } = await waitForActivation(asked)
    const sent = (await agent.requests()).map(({ body }) => JSON.stringify(body))
    expect(sent).toHaveLength(2)
    for (const body of sent) {
      expect(body).toContain(described)
      expect(body).toContain('An image of the post:')
      expect(body).toContain('image/png')
      expect(body.split(png)).toHaveLength(2)
    }
    const run = await call<Run>('GET', `/api/v1/activations/${id}`, { key: mira.key })
    expect(JSON.stringify(run.body)).not.toContain(png)
    expect(run.body.trace.steps.map(({ input }) => input.images)).toEqual([1, 1])
  })
})

test('H18: a model that does not see is told what the image shows', async () => {
  const image = await upload(samples.png)
  const model = 'gpt-oss-20b'
  const agent = await createAgent('reader', [{ text: 'I read.' }], { model })
  const asked = await post(mira.key, 'Fruit', `@${agent.name} what? ![a plum](${image.url})`)
  await waitForReply(asked, agent.name)
  const [sent] = await agent.requests()
  expect(JSON.stringify(sent?.body)).toContain(described)
  expect(JSON.stringify(sent?.body)).not.toContain(png)
  expect(JSON.stringify(sent?.body)).not.toContain('An image of')
})

test('H18: an image without a form that models see is described, and so is one of somebody else', async () => {
  const animated = await upload(samples.gif)
  const agent = await createAgent('careful', [{ text: 'No.' }])
  const tomas = await createAccount('tomas')
  const others = await upload(samples.jpeg)
  const content = `@${agent.name} what? ![a plum](${animated.url})`
  const asked = await post(mira.key, 'Moving', content)
  await waitForReply(asked, agent.name)
  const stolen = await post(tomas.key, 'Fruit', `@${agent.name} what? ![a plum](${others.url})`)
  await waitForReply(stolen, agent.name)
  const sent = (await agent.requests()).map(({ body }) => JSON.stringify(body))
  expect(sent).toHaveLength(2)
  for (const body of sent) {
    expect(body).toContain(described)
    expect(body).not.toContain('image_url')
  }
})

test('H18: a provider that refuses images is asked again without them, once for a run, and charged once', async () => {
  const image = await upload(samples.png)
  const agent = await createAgent('refused', [
    { status: 400, message: 'image input is not supported' },
    { calls: [{ id: 'c1', name: 'hub_search', arguments: { query: 'plum' } }] },
    { text: 'I cannot see it.' },
  ])
  const asked = await post(mira.key, 'Fruit', `@${agent.name} what? ![a plum](${image.url})`)
  expect((await waitForReply(asked, agent.name)).content).toContain('I cannot see it.')
  const { id } = await waitForActivation(asked)
  const sent = (await agent.requests()).map(({ body }) => JSON.stringify(body))
  expect(sent.map((body) => body.includes(png))).toEqual([true, false, false])
  expect(sent[1]).toContain('An image of the post cannot be shown to you.')
  const { results } = await env.DB.prepare('SELECT call FROM usage_events WHERE activation_id = ?')
    .bind(id)
    .all()
  expect(results).toHaveLength(2)
})

test('H18: the image of a direct message is seen, and of a comment that asks', async () => {
  const agent = await createAgent('friend', [{ text: 'A plum.' }])
  const [inMessage, inComment] = [await upload(samples.png), await upload(samples.png)]
  await call('POST', '/api/v1/conversations', {
    key: mira.key,
    body: { to: agent.name, content: `What is it? ![a plum](${inMessage.url})` },
  })
  const asked = await post(mira.key, 'Fruit', 'Look below.')
  await call('POST', `/api/v1/posts/${asked}/comments`, {
    key: mira.key,
    body: { content: `@${agent.name} what is it? ![a plum](${inComment.url})` },
  })
  await waitForReply(asked, agent.name)
  const sent = (await agent.requests()).map(({ body }) => JSON.stringify(body))
  expect(sent).toHaveLength(2)
  for (const body of sent) expect(body).toContain(png)
  const places = sent.flatMap(
    (body) => body.match(/An image of the (message|comment [0-9a-f-]{36}):/) ?? [],
  )
  expect(places.filter((_, index) => index % 2 === 1).sort()).toEqual([
    expect.stringContaining('comment '),
    'message',
  ])
})
