import { env, exports } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import { adminKey, call, createAccount, pushDefinition, waitForValue } from '../../support/cast'
import type { FakeAnswer, FakeRequest } from '../../support/fake-model-server'
import { asAdmin } from '../../support/services'

const fakeUrl = (env as unknown as { FAKE_MODEL_URL: string }).FAKE_MODEL_URL
const script = `models-${Math.random().toString(36).slice(2, 8)}`
const baseUrl = `${fakeUrl}/s/${script}/v1`
const secret = 'key-of-the-page-0123456789'
const provider = 'openai-compatible'
let cookie = ''

const send = (path: string, fields: Record<string, string>) =>
  exports.default.fetch(`http://hub.test${path}`, {
    method: 'POST',
    headers: {
      ...{ 'content-type': 'application/x-www-form-urlencoded', cookie },
      ...{ 'sec-fetch-site': 'same-origin', origin: 'http://hub.test' },
    },
    body: new URLSearchParams(fields).toString(),
    redirect: 'manual',
  })
/** The part of a page about what happened. */
const readText = async (response: Response) =>
  /<main.*?(?=<section class="block" id="prices")/s.exec(await response.text())?.[0] ?? ''
const readPage = async (path = '/models') =>
  (await exports.default.fetch(`http://hub.test${path}`, { headers: { cookie } })).text()
const program = (answers: FakeAnswer[]) =>
  fetch(`${fakeUrl}/__script`, { method: 'POST', body: JSON.stringify({ id: script, answers }) })
const requests = async () =>
  (await (await fetch(`${fakeUrl}/__log?script=${script}`)).json()) as FakeRequest[]
const modelOf = (name: string) =>
  env.DB.prepare(
    'SELECT g.model FROM agents g JOIN accounts a ON a.id = g.account_id WHERE a.name = ?',
  )
    .bind(name)
    .first<string>('model')

const definition = (name: string) => ({
  'config.yaml': `name: ${name}\nbrain: { provider: auto }\ncapabilities: { grants: ["hub:read"] }\n`,
  'system-prompt.md': 'You are a test agent.',
})
const saveProvider = (fields: Record<string, string>) =>
  send('/models', { provider, has_address: 'yes', base_url: '', default_model: '', ...fields })
const testModel = (model: string) => send('/models/test', { provider, model })

/** The test calls that are charged, and what is still reserved. */
const readMoney = async () => ({
  charged: await env.DB.prepare(
    "SELECT count(*) AS n, sum(input_tokens + output_tokens) AS tokens FROM usage_events WHERE model = 'openai-compatible/gpt-5-mini'",
  ).first<{ n: number; tokens: number | null }>(),
  reserved: await env.DB.prepare(
    "SELECT count(*) AS n FROM activations WHERE state = 'running'",
  ).first('n'),
})

beforeAll(async () => {
  const login = await send('/login', { key: adminKey, next: '/' })
  cookie = login.headers.get('set-cookie')?.split(';')[0] ?? ''
  await pushDefinition('rook', definition('rook'))
})

test('L27: an admin sets up a local server on the page, and agents with provider auto use it', async () => {
  expect(await modelOf('rook')).toBe('offline/extractive')
  expect(await readPage()).toContain('base URL missing')
  const bad = await saveProvider({ base_url: 'not a url' })
  expect([bad.status, await readText(bad)]).toEqual([
    400,
    expect.stringContaining('Base URL: Must be a complete URL'),
  ])
  expect((await saveProvider({ base_url: baseUrl })).status).toBe(303)
  const key = await send('/models/key', { provider, value: secret })
  expect([key.status, key.headers.get('location')]).toEqual([303, `/models#${provider}`])
  expect((await send('/models/list', { provider })).status).toBe(303)
  expect(await readPage()).toContain('fake-large')
  expect(await modelOf('rook')).toBe('offline/extractive')
  expect((await saveProvider({ base_url: baseUrl, default_model: 'gpt-5-mini' })).status).toBe(303)
  expect(await modelOf('rook')).toBe('openai-compatible/gpt-5-mini')
  const api = await asAdmin('GET', '/models')
  expect([api.status, api.body]).toMatchObject([200, { auto: ['openai-compatible/gpt-5-mini'] }])
  expect(JSON.stringify(api.body)).not.toContain(secret)
  const html = await readPage()
  expect(html).toContain('key set')
  expect(html).not.toContain(secret)
})

test('B4 L27: a test call is reserved and charged, and says what it took', async () => {
  await program([{ text: 'OK' }])
  const before = await readMoney()
  const html = await readText(await testModel('gpt-5-mini'))
  expect(html).toMatch(/openai-compatible\/gpt-5-mini answered\.<\/strong> [^<]*tokens/)
  const tried = await asAdmin('POST', '/models/test', { model: 'offline' })
  expect(tried.body).toMatchObject({
    model: 'offline/extractive',
    has_succeeded: true,
    cost_microusd: 0,
  })
  const after = await readMoney()
  expect(after.charged?.n).toBe((before.charged?.n ?? 0) + 1)
  expect(after.charged?.tokens).toBeGreaterThan(0)
  expect(after.reserved).toBe(0)
  const [sent] = await requests()
  expect(sent?.headers.authorization).toBe(`Bearer ${secret}`)
  const log = await env.DB.prepare(
    "SELECT group_concat(action) AS actions FROM admin_log WHERE target_type IN ('model', 'model_provider')",
  ).first<string>('actions')
  for (const action of ['set', 'set_key', 'list']) expect(log).toContain(`model_provider.${action}`)
  expect(log).toContain('model.test')
})

test('M5: a provider that repeats the key in an error or an answer shows it to nobody', async () => {
  await program([{ status: 400, error: `The key ${secret} is wrong.` } as FakeAnswer])
  const failed = await readText(await testModel('gpt-5-mini'))
  expect(failed).toContain('failed')
  expect(failed).not.toContain(secret)
  await program([{ text: `Your key is ${secret}.` }])
  const answered = await readText(await testModel('gpt-5-mini'))
  expect(answered).toContain('[redacted]')
  expect(answered).not.toContain(secret)
})

test('B4: a test call without budget left is not made', async () => {
  const { body } = await call<{ budget: { id: string } }>('POST', '/api/v1/budgets', {
    key: adminKey,
    body: {
      ...{ scope: 'model', name: 'openai-compatible/gpt-5-mini', period: 'day', limit_tokens: 1 },
    },
  })
  const count = (await requests()).length
  const refused = await testModel('gpt-5-mini')
  expect([refused.status, await readText(refused)]).toEqual([
    409,
    expect.stringContaining('The budget leaves too little'),
  ])
  expect((await requests()).length).toBe(count)
  await asAdmin('DELETE', `/budgets/${body.budget.id}`)
})

/** A session of rook that is long enough to compact. */
const saveSession = () =>
  asAdmin('PUT', '/agents/rook/sessions/general_long', {
    messages: Array.from({ length: 20 }, (_, index) => [
      { role: 'user', text: `Question ${index}. ${'Tides. '.repeat(20)}` },
      { role: 'assistant', text: `Answer ${index}. ${'Herons. '.repeat(20)}`, calls: [] },
    ]).flat(),
  })
const compact = async () => {
  await saveSession()
  return (await asAdmin('POST', '/agents/rook/sessions/general_long/compact')).body.compacted
}

test('L19 B4: the model of an agent compacts a session: reserved from its budgets, charged, in words when it cannot', async () => {
  await program([{ text: 'They spoke of tides and herons.' }])
  const before = await readMoney()
  const done = await compact()
  expect(done).toMatchObject({ by: 'model', note: null, replaced: expect.any(Number) })
  const { body } = await asAdmin('GET', '/agents/rook/sessions/general_long')
  expect(body).toMatchObject({ session: { summary: 'They spoke of tides and herons.' } })
  const after = await readMoney()
  expect([after.charged?.n, after.reserved]).toEqual([(before.charged?.n ?? 0) + 1, 0])
  const charged = await env.DB.prepare(
    'SELECT a.name FROM usage_events e JOIN accounts a ON a.id = e.account_id ORDER BY e.created_at DESC LIMIT 1',
  ).first('name')
  expect(charged).toBe('rook')

  await program([{ status: 400, error: 'no' } as FakeAnswer])
  expect(await compact()).toMatchObject({ by: 'extract', note: expect.any(String) })
  const none = await call<{ budget: { id: string } }>('POST', '/api/v1/budgets', {
    key: adminKey,
    body: { ...{ scope: 'agent', name: 'rook', period: 'day', limit_tokens: 1 } },
  })
  const asked = (await requests()).length
  expect(await compact()).toMatchObject({
    ...{ by: 'extract', note: 'The budget is too low for a summary by the model.' },
    cost_microusd: 0,
  })
  await saveSession()
  const page = await send('/a/rook/knows/general_long', { do: 'compact' })
  const [shown] = /<p class="note".*?<\/p>/s.exec(await page.text()) ?? []
  expect([page.status, shown]).toEqual([
    200,
    expect.stringMatching(/An extract replaced [^.]+\. The budget is too low/),
  ])
  expect((await requests()).length).toBe(asked)
  await asAdmin('DELETE', `/budgets/${none.body.budget.id}`)
})

test('L27: misspelt names are errors at once, with the nearest name', async () => {
  const refused = await testModel('fake-lrge')
  expect(await readText(refused)).toContain(
    'Unknown model &quot;fake-lrge&quot;: did you mean fake-large?',
  )
  const { status, body } = await asAdmin('PUT', '/agents/rook/definition', {
    files: { ...definition('rook'), 'config.yaml': 'name: rook\nbrain: { provider: antropic }\n' },
  })
  expect([status, JSON.stringify(body)]).toEqual([
    422,
    expect.stringContaining('Unknown provider \\"antropic\\": did you mean anthropic?'),
  ])
  const put = await asAdmin('PUT', '/model-providers/antropic', { key: secret })
  expect([put.status, JSON.stringify(put.body)]).toEqual([
    400,
    expect.stringContaining('did you mean anthropic?'),
  ])
})

const priced = async (model: string) => {
  await program([{ text: 'OK' }])
  const { body } = await asAdmin('POST', '/models/test', { model: `${provider}/${model}` })
  return { cost: body.cost_microusd, isPriced: body.is_priced }
}
const savePrice = (model: string, fields: Record<string, string>) =>
  send('/models/price', {
    ...{ provider, model, input: '1', cached: '0.1', output: '2' },
    ...fields,
  })

test('B7 L27: a price set on the page counts for the next call, also of a model without one, until it is reset', async () => {
  const before = await priced('gpt-5-mini')
  expect([before.isPriced, (await priced('fake-large')).isPriced]).toEqual([true, false])
  const bad = await savePrice('gpt-5-mini', { output: '1,50' })
  const html = await bad.text()
  expect([bad.status, html]).toEqual([400, expect.stringMatching(/id="price-output-wrong"/)])
  expect(html).toContain('value="1,50"')
  expect((await savePrice('gpt-5-mini', { input: '2000', output: '9000' })).status).toBe(303)
  const page = await readPage(`/models?price=${provider}/gpt-5-mini`)
  expect(page).toMatch(
    /id="price-output"[^>]* value="9000.00"|value="9000.00"[^>]*id="price-output"/,
  )
  const after = await priced('gpt-5-mini')
  expect(Number(after.cost)).toBeGreaterThan(1_000 * Number(before.cost))
  await asAdmin('PUT', `/model-providers/${provider}/prices`, {
    ...{ model: 'fake-large', input: 3_000_000, cached: 300_000, output: 9_000_000 },
  })
  expect((await priced('fake-large')).isPriced).toBe(true)
  const prices: unknown = (await asAdmin('GET', '/models')).body.prices
  expect(Array.isArray(prices) && prices.filter((each) => each.is_set_here)).toMatchObject([
    { model: `${provider}/gpt-5-mini`, provider, output: 9_000_000_000 },
    { model: `${provider}/fake-large`, input: 3_000_000 },
  ])
  for (const model of ['gpt-5-mini', 'fake-large'])
    expect((await send('/models/price/reset', { provider, model })).status).toBe(303)
  expect([await priced('gpt-5-mini'), (await priced('fake-large')).isPriced]).toEqual([
    before,
    false,
  ])
  const price = { model: 'm', input: 1, cached: 1, output: 1 }
  const elsewhere = await asAdmin('PUT', '/model-providers/workers-ai/prices', price)
  expect([elsewhere.status, JSON.stringify(elsewhere.body)]).toEqual([
    400,
    expect.stringContaining('no base URL'),
  ])
  const log = await env.DB.prepare(
    "SELECT group_concat(action || coalesce(after, '')) AS entries FROM admin_log WHERE action LIKE 'model_provider.%_price'",
  ).first<string>('entries')
  expect(log).toMatch(/set_price.*"output":9000000000.*set_price.*fake-large.*reset_price/)
})

test('M5: a key goes without TLS to private hosts only, whatever else is allowed', async () => {
  const put = (base_url: string) =>
    asAdmin('PUT', '/model-providers/anthropic', { base_url, allow_private: true })
  const refused = await put('http://models.example.com/v1')
  expect([refused.status, JSON.stringify(refused.body)]).toEqual([
    400,
    expect.stringContaining('https'),
  ])
  expect((await put('https://models.example.com/v1')).status).toBe(200)
  await asAdmin('DELETE', '/model-providers/anthropic')
})

test('L27: a mention is answered with the key of the page; then another host needs it anew', async () => {
  const { key } = await createAccount('mira', 'human')
  await program([{ text: 'From the local server.' }])
  const { body } = await call<{ post: { id: string } }>('POST', '/api/v1/posts', {
    key,
    body: { community: 'general', title: 'Hello', content: '@rook are you there?' },
  })
  const answer = await waitForValue(
    () =>
      env.DB.prepare('SELECT content FROM comments WHERE post_id = ?')
        .bind(body.post.id)
        .first<string>('content'),
    'the answer',
  )
  expect(answer).toContain('From the local server.')
  expect(await readPage(`/p/${body.post.id}`)).toContain('openai-compatible/gpt-5-mini')
  const moved = await saveProvider({ base_url: 'https://elsewhere.example/v1' })
  expect([moved.status, await readText(moved)]).toEqual([
    400,
    expect.stringContaining('The key was set for another host'),
  ])
  const tables = await env.DB.prepare(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\' AND name NOT LIKE 'search_index%'",
  ).all<{ name: string }>()
  for (const { name } of tables.results) {
    const { results } = await env.DB.prepare(`SELECT * FROM "${name}"`).all()
    expect(JSON.stringify(results), name).not.toContain(secret)
  }
  expect((await send('/models/delete', { provider })).status).toBe(303)
  expect(await modelOf('rook')).toBe('offline/extractive')
  expect((await asAdmin('GET', '/credentials')).body).toMatchObject({ credentials: [] })
})
