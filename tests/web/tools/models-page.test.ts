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
      'content-type': 'application/x-www-form-urlencoded',
      cookie,
      'sec-fetch-site': 'same-origin',
      origin: 'http://hub.test',
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
const saveKey = (form: string, value = secret) =>
  send('/models/key', { provider, value, idempotency_key: form })
/** What the page says after a form with a key was sent. */
const readKeyTest = async (saved: Response) => {
  const html = await readPage(saved.headers.get('location') ?? '')
  return /id="openai-compatible".*?<dl/s.exec(html)?.[0] ?? ''
}

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
  const place = key.headers.get('location') ?? ''
  expect([key.status, place]).toEqual([
    303,
    expect.stringMatching(
      /^\/models\?open=openai-compatible&tested=[0-9a-f]{64}#openai-compatible$/,
    ),
  ])
  const tested = await readPage(place)
  expect(tested).toMatch(/The key works: <\/strong><strong>openai-compatible\/fake-large answered/)
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
  const sent = (await requests()).at(-1)
  expect(sent?.headers.authorization).toBe(`Bearer ${secret}`)
  const log = await env.DB.prepare(
    "SELECT group_concat(action) AS actions FROM admin_log WHERE target_type IN ('model', 'model_provider')",
  ).first<string>('actions')
  for (const action of ['set', 'set_key', 'list']) expect(log).toContain(`model_provider.${action}`)
  expect(log).toContain('model.test')
})

test('B4: a test that is sent twice at once is made and charged once, and both pages show it', async () => {
  await program([{ text: 'Once.', latencyMs: 400 }])
  const [before, asked] = [await readMoney(), (await requests()).length]
  const fields = { provider, model: 'gpt-5-mini', idempotency_key: 'one-form-of-a-test' }
  const pages = await Promise.all([send('/models/test', fields), send('/models/test', fields)])
  for (const page of pages)
    expect([page.status, await readText(page)]).toEqual([200, expect.stringContaining('Once.')])
  expect((await requests()).length).toBe(asked + 1)
  const after = await readMoney()
  expect([after.charged?.n, after.reserved]).toEqual([(before.charged?.n ?? 0) + 1, 0])
})

test('B4: a key that is saved twice at once is tested and charged once; another key is tested again', async () => {
  await program([{ text: 'Tested.', latencyMs: 400 }])
  const [before, asked] = [await readMoney(), (await requests()).length]
  const saved = await Promise.all([saveKey('one-form-of-a-key'), saveKey('one-form-of-a-key')])
  for (const each of saved) expect(await readKeyTest(each)).toContain('The key works')
  expect((await requests()).length).toBe(asked + 1)
  const after = await readMoney()
  expect([after.charged?.n, after.reserved]).toEqual([(before.charged?.n ?? 0) + 1, 0])
  await saveKey('one-form-of-a-key', 'another-key-0123456789')
  await saveKey('a-later-form')
  expect((await requests()).length).toBe(asked + 3)
  const html = await readPage()
  expect(html).toMatch(/at most [\d,]+.tokens, [^.]*\$0\.\d+/)
  expect(html).toContain('<code>fake-large</code>')
})

/** What agents without a model of their own use, as the API and the page say it. */
const readUsed = async () => {
  const { body } = await asAdmin('GET', '/models')
  const providers = body.providers as unknown as { provider: string }[]
  return { auto: body.auto, ...providers.find((each) => each.provider === provider) }
}
const unused = (key_problem: string) => ({
  auto: ['offline/extractive'],
  is_ready: false,
  has_stored_key: true,
  key_problem,
})
const used = { auto: ['openai-compatible/gpt-5-mini'], is_ready: true, key_problem: null }

test.each<[string, string, FakeAnswer, RegExp]>([
  [
    '401',
    'refused',
    { status: 401, message: 'Incorrect API key.' },
    /refused the key \(401\)\. Check the key at \/models.*Incorrect API key/,
  ],
  ['403', 'refused', { status: 403, message: 'No access.' }, /refused the key \(403\).*No access/],
  [
    '403 of another region',
    'refused',
    { status: 403, message: 'Country, region, or territory not supported' },
    /does not serve the region that this hub calls from \(403\)\. Use another provider/,
  ],
  [
    '429',
    'busy',
    { status: 429, message: 'Slow down.' },
    /sent too many requests\. Wait a minute.*Slow down/,
  ],
  ['503', 'busy', { status: 503, message: 'Overloaded.' }, /overloaded or failing.*Overloaded/],
  [
    'no credit',
    'failed',
    { status: 402, message: 'Your credit balance is too low.' },
    /no credit left\. Add credit.*balance is too low/,
  ],
])(
  'a key whose test fails with %s stays, agents do not use it (%s), and the page says what the provider said and what to do',
  async (name, problem, answer, says) => {
    await program([answer])
    const before = await readMoney()
    const shown = await readKeyTest(await saveKey(`form-of-${name.replaceAll(' ', '-')}`))
    expect(shown).toContain(
      'The key is saved, but the test of openai-compatible/gpt-5-mini failed.',
    )
    expect(shown).toMatch(says)
    expect(shown).toContain('It cost nothing.')
    expect(shown).toContain('Agents do not use this key')
    expect(await readUsed()).toMatchObject(unused(problem))
    expect(await modelOf('rook')).toBe('offline/extractive')
    expect((await readMoney()).charged?.n).toBe(before.charged?.n)
    expect(await readPage()).toContain('key not used')
  },
)

test('agents use a key after a test of it succeeds, or once an admin decides so, and a later failure changes nothing', async () => {
  await program([{ status: 401, message: 'Incorrect API key.' }])
  await saveKey('form-of-a-refused-key')
  expect(await readUsed()).toMatchObject(unused('refused'))
  await program([{ status: 429, message: 'Slow down.' }])
  await testModel('gpt-5-mini')
  expect(await readUsed()).toMatchObject(unused('busy'))
  await program([{ text: 'OK' }])
  await testModel('gpt-5-mini')
  expect(await readUsed()).toMatchObject(used)
  expect(await modelOf('rook')).toBe('openai-compatible/gpt-5-mini')
  await program([{ status: 401, message: 'Incorrect API key.' }])
  await testModel('gpt-5-mini')
  expect(await readUsed()).toMatchObject(used)

  await asAdmin('PUT', `/model-providers/${provider}`, { key: 'a-key-of-a-program' })
  expect(await readUsed()).toMatchObject(unused('untested'))
  expect((await send('/models/use', { provider })).headers.get('location')).toMatch(/^\/models\?/)
  expect(await readUsed()).toMatchObject(used)
  expect(await modelOf('rook')).toBe('openai-compatible/gpt-5-mini')
  await asAdmin('PUT', `/model-providers/${provider}`, { key: secret, use_untested: true })
  expect(await readUsed()).toMatchObject(used)
  expect((await send('/models/use', { provider: 'anthropic' })).status).toBe(404)
})

test('a test of a key that was replaced meanwhile says nothing of the new one', async () => {
  await program([{ text: 'OK', latencyMs: 400 }])
  const [asked] = [(await requests()).length]
  const tested = saveKey('form-of-a-slow-test', 'a-key-that-is-slow')
  await waitForValue(async () => (await requests()).length > asked || null, 'the request')
  await asAdmin('PUT', `/model-providers/${provider}`, { key: 'a-key-that-came-later' })
  await tested
  expect(await readUsed()).toMatchObject(unused('untested'))
  await asAdmin('PUT', `/model-providers/${provider}`, { key: secret, use_untested: true })
})

test('a key that no budget can test stays, and the page says so', async () => {
  const { body } = await call<{ budget: { id: string } }>('POST', '/api/v1/budgets', {
    key: adminKey,
    body: { scope: 'model', name: 'openai-compatible/gpt-5-mini', period: 'day', limit_tokens: 1 },
  })
  const count = (await requests()).length
  const shown = await readKeyTest(await saveKey('form-without-a-budget'))
  expect(shown).toContain('The budget leaves too little for a test call.')
  expect((await requests()).length).toBe(count)
  await asAdmin('DELETE', `/budgets/${body.budget.id}`)
})

test('M5: a provider that repeats the key in an error or an answer shows it to nobody', async () => {
  await program([{ status: 400, message: `The key ${secret} is wrong.` }])
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
      scope: 'model',
      name: 'openai-compatible/gpt-5-mini',
      period: 'day',
      limit_tokens: 1,
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

  await program([{ status: 400, message: 'no' } as FakeAnswer])
  expect(await compact()).toMatchObject({ by: 'extract', note: expect.any(String) })
  const none = await call<{ budget: { id: string } }>('POST', '/api/v1/budgets', {
    key: adminKey,
    body: { scope: 'agent', name: 'rook', period: 'day', limit_tokens: 1 },
  })
  const asked = (await requests()).length
  expect(await compact()).toMatchObject({
    by: 'extract',
    note: 'The budget is too low for a summary by the model.',
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
    provider,
    model,
    input: '1',
    cached: '0.1',
    output: '2',
    ...fields,
  })

test.each<[string, Record<string, string>, RegExp]>([
  ['/models/key', { provider: 'nobody', value: secret }, /There is no such provider/],
  ['/models/key', { provider: 'Not A Name', value: secret }, /There is no such provider/],
  ['/models/key', { provider: '', value: secret }, /There is no such provider/],
  ['/models', { provider: 'nobody', default_model: 'm' }, /Unknown provider/],
  ['/models/list', { provider: 'nobody' }, /Unknown provider/],
  ['/models/use', { provider: 'nobody' }, /Unknown provider/],
  ['/models/delete', { provider: 'nobody' }, /not set up here/],
  ['/models/test', { provider: 'nobody', model: 'm' }, /Unknown provider/],
  [
    '/models/price',
    { provider: 'nobody', model: 'm', input: '1', cached: '1', output: '1' },
    /Unknown provider/,
  ],
  ['/models/price/reset', { provider: 'nobody', model: 'm' }, /Unknown provider/],
  ['/models/local', { server: 'nobody', model: 'm' }, /not found on this machine/],
  [
    '/credentials',
    { name: 'a-key', server: 'nobody', value: secret, service: 's' },
    /server uses no credentials/,
  ],
  [
    '/credentials',
    { name: 'a-key', server: 'NO', value: secret, service: 's' },
    /server is not valid/,
  ],
  ['/credentials/rotate', { name: 'nobody', new_value: secret }, /no such credential/],
  [
    '/credentials/services',
    { server: 'nobody', name: 's', base_url: 'https://a.example', format: 'json' },
    /class="wrong" role="alert"/,
  ],
  [
    '/tools/remote/tools',
    { server: 'nobody', action: 'map', tier: 'sometimes', grant: 'a:b' },
    /no such remote server/,
  ],
])('a choice that %s does not offer is an error of its field: %j', async (path, fields, says) => {
  const sent = await send(path, fields)
  const place = sent.headers.get('location')
  expect([sent.status, place ?? '']).not.toEqual([303, expect.stringContaining('INTERNAL')])
  expect(sent.status).toBeLessThan(500)
  const html = place === null ? await sent.text() : await readPage(place)
  expect(html).toMatch(says)
})

test('B7 L27: a price set on the page counts for the next call, also of a model without one, until it is reset', async () => {
  const before = await priced('gpt-5-mini')
  expect([before.isPriced, (await priced('fake-large')).isPriced]).toEqual([true, false])
  const bad = await savePrice('gpt-5-mini', { output: '1,500' })
  const html = await bad.text()
  expect([bad.status, html]).toEqual([400, expect.stringMatching(/id="price-output-wrong"/)])
  expect(html).toContain('value="1,500"')
  expect((await savePrice('gpt-5-mini', { input: '2000', output: '9000' })).status).toBe(303)
  const page = await readPage(`/models?price=${provider}/gpt-5-mini`)
  expect(page).toMatch(
    /id="price-output"[^>]* value="9000.00"|value="9000.00"[^>]*id="price-output"/,
  )
  const after = await priced('gpt-5-mini')
  expect(Number(after.cost)).toBeGreaterThan(1_000 * Number(before.cost))
  await asAdmin('PUT', `/model-providers/${provider}/prices`, {
    model: 'fake-large',
    input: 3_000_000,
    cached: 300_000,
    output: 9_000_000,
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
