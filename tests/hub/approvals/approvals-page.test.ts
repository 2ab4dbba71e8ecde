import { afterEach, beforeAll, expect, test } from 'vitest'
import { formatArguments } from '../../../src/hub/approvals/arguments'
import { approvals } from '../../../src/shared/config'
import { createBrowser, signIn } from '../../web/open-pages'
import { adminKey, readCost } from '../create-test-hub'
import { createOffice } from '../runs/create-office'
import { asking, createParking } from '../runs/create-parking'
import { createPem } from './create-pem'

const office = createOffice()
const { hub } = office
const { parkTask, clear } = createParking(office, () => scout.id)
let scout: Awaited<ReturnType<typeof hub.join>>
let ada: typeof scout
let admin: Awaited<ReturnType<typeof signIn>>

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
  scout = await office.createAgent('scout')
  await office.hubApi.sweep(hub.clock.now())
  admin = await signIn(hub)
})

afterEach(clear)

const park = async (args = '{"title":"Hello","content":"<b>bold</b>"}', count = 1) => {
  await office.post(ada.key, '@scout please write a post')
  const approvals = Array.from({ length: count }, (_, i) =>
    asking(`call-${i}`, { arguments: args }),
  )
  return parkTask({ approvals })
}
const read = async () => (await admin.read('/approvals')).replaceAll('&quot;', '"')

test('M7: an empty page says what could come here and how', async () => {
  const page = await read()
  expect(page).toContain('No approvals are pending.')
  expect(page).toContain('Calls that require approval appear here.')
})

test('M7: the page shows what would run, escaped and one argument a line, and where it was asked', async () => {
  const activationId = await park()
  const page = await read()
  expect(page).toContain('hub.create_post')
  expect(page).toContain('  "title": "Hello",\n  "content": "&lt;b&gt;bold&lt;/b&gt;"')
  expect(page).toContain('<code>hub:write</code>, writes')
  expect(page).toContain(`href="/activations/${activationId}"`)
  expect(page).toContain('A question')
  expect(page).toMatch(/<a href="\/approvals"[^>]*>Approvals/)
})

test('C5: an approval says who acts for whom, at which cost and who pays, and resuming reserves just that', async () => {
  const activationId = await park()
  await office.setHubLimit(5_000_000)
  await office.run('UPDATE agents SET call_want_microusd = 40000')
  const page = await admin.get('/approvals')
  const thread = await admin.get(`/p/${(await office.activation(activationId))?.post_id}`)
  const own = await (await signIn(hub, ada.key)).read('/approvals')
  for (const { headers } of [page, thread]) expect(readCost(headers).roundTrips).toBe(1)
  for (const text of [await page.text(), await thread.text(), own]) {
    expect(text).toContain('scout for @ada')
    expect(text).toContain(
      'The next model call costs at most $0.040, the rest of the run at most $5.00: what its budgets leave (Whole hub).',
    )
  }
  const path = `/approvals/${encodeURIComponent(`${activationId}:call-0`)}`
  await admin.send(path, { decision: 'approve', note: '' })
  await office.load(scout.id)
  expect(await office.activation(activationId)).toMatchObject({ reserved_microusd: 40_000 })
  await office.run('UPDATE agents SET call_want_microusd = 100')
})

test('M7: the buttons decide without a script, and the note reaches the agent', async () => {
  const activationId = await park()
  const path = `/approvals/${encodeURIComponent(`${activationId}:call-0`)}`
  expect(await read()).toContain(`action="${path}"`)
  const answer = await admin.send(path, { decision: 'deny', note: 'Too early' })
  expect(answer.status).toBe(303)
  expect(answer.headers.get('location')).toBe('/approvals')
  expect(
    await office.first('SELECT status, note FROM approvals WHERE activation_id = ?', activationId),
  ).toEqual({ status: 'denied', note: 'Too early' })
  expect(await read()).toContain('Too early')
  const late = await admin.send(path, { decision: 'approve', note: '' })
  expect(late.status).toBe(409)
  expect(await late.text()).toContain('This call was already denied by admin.')
  expect((await admin.send(path, { decision: 'perhaps', note: '' })).status).toBe(400)
})

test('M7 M9: a requester sees it without arguments and buttons; anonymous visitors sign in first', async () => {
  const activationId = await park()
  const requester = await signIn(hub, ada.key)
  const page = await requester.read('/approvals')
  expect(page).toContain('hub.create_post')
  expect(page).toContain('Arguments are shown only to admins')
  expect(page).not.toContain('Hello')
  expect(page).not.toContain('shown exactly as it would run')
  expect(page).toContain('Waiting for @admin.')
  expect(page).not.toContain('name="decision"')
  const path = `/approvals/${encodeURIComponent(`${activationId}:call-0`)}`
  expect((await requester.send(path, { decision: 'approve', note: '' })).status).toBe(403)
  await admin.send(path, { decision: 'deny', note: 'Not for bob' })
  const decided = await requester.read('/approvals')
  expect(decided).toContain('denied')
  expect(decided).not.toContain('Not for bob')
  const visit = await createBrowser(hub).get('/approvals')
  expect(visit.headers.get('location')).toBe('/login?next=%2Fapprovals')
})

test('M7: what the eye cannot see is written out', () => {
  expect(formatArguments('{"to":"a\u202eb\u200bc"}')).toBe('{\n  "to": "a\\u202eb\\u200bc"\n}')
  expect(formatArguments('not \u0007json')).toBe('not \\u0007json')
})

test('M7: the inbox writes out what the eye cannot see in a call, too', async () => {
  await park('{"to":"a\u202eb\u200bc"}')
  const page = await admin.read('/inbox')
  expect(page).toContain('a\\u202eb\\u200bc')
  expect(page).not.toMatch(/[\u202e\u200b]/)
})

test.each([
  ['a hosted agent', true],
  ['somebody outside', false],
])(
  'H14: a key in the call of %s is in no inbox, and is revealed only to who can decide, until then',
  async (_, isHosted) => {
    const secret = `ghp_${'a1B2'.repeat(9)}`
    const pem = createPem('PRIVATE KEY')
    const body = pem.split('\n')[1] ?? ''
    const args = JSON.stringify({ title: 'Hello', content: `Use ${secret}`, note: pem, end: 'Bye' })
    if (isHosted) await park(args)
    else {
      const request = asking('call-9', { arguments: args })
      await office.hubApi.requestApproval(ada.id, { ...request, argumentsHash: 'hash-9' })
    }
    const { body: answer } = await hub.call('/approvals', { key: adminKey })
    const [approval] = answer.approvals
    const page = await read()
    const unopened = page.replace(/<\/summary>.*?<\/details>/gs, '')
    const caller = await hub.call('/approvals', { key: isHosted ? scout.key : ada.key })
    const inbox = await hub.call('/inbox', { key: adminKey })
    const texts = [unopened, await admin.read('/inbox'), approval.arguments]
    for (const text of [...texts, JSON.stringify([caller.body, inbox.body])]) {
      expect(text).not.toContain(secret)
      expect(text).not.toContain(body)
    }
    expect(unopened).toContain('<summary>[withheld: a GitHub token, 40 characters]')
    expect(page).toContain(`</summary><span>${secret}</span></details>`)
    expect(caller.body.approvals).toMatchObject([{ masked: [], arguments: approval.arguments }])
    expect(approval.masked.map(({ value }: { value: string }) => value)).toEqual([
      secret,
      JSON.stringify(pem).slice(1, -1),
    ])
    for (const { start, end } of approval.masked)
      expect(approval.arguments.slice(start, end)).toMatch(/^\[withheld: a .*, \d+ characters\]$/)
    expect(page).toContain('"end": "Bye"')
    const [kept] = await office.all('SELECT arguments_hash AS hash FROM approvals')
    expect(kept).toEqual({ hash: isHosted ? 'hash-1' : 'hash-9' })

    await admin.send(`/approvals/${encodeURIComponent(approval.id)}`, {
      decision: 'deny',
      note: '',
    })
    const stored = JSON.stringify(await office.all('SELECT * FROM approvals'))
    expect(stored).toContain('Use [withheld: a GitHub token')
    expect(stored).not.toContain(secret)
    expect(stored).not.toContain(body)
  },
)

test.each(['expired', 'cancelled'])('H14: an approval that is %s keeps no key', async (end) => {
  const secret = `ghp_${'a1B2'.repeat(9)}`
  const activationId = await park(JSON.stringify({ content: secret }))
  if (end === 'expired') {
    hub.clock.advance(86_400_001)
    await office.hubApi.sweep(hub.clock.now())
  } else {
    await hub.call(`/activations/${activationId}/cancel`, { key: adminKey, body: {} })
  }
  const rows = await office.all<{ status: string }>('SELECT * FROM approvals')
  expect(rows).toMatchObject([{ status: end }])
  expect(JSON.stringify(rows)).not.toContain(secret)
})

/** What the newest item of the inbox says about its request. */
const readNewest = async (): Promise<string> => {
  const [, list = ''] = (await admin.read('/inbox')).split('<ul class="list tall">')
  const [item = ''] = list.split('</li>')
  return item
}

test.each([
  ['approved', (id: string) => admin.send(`/approvals/${id}`, { decision: 'approve', note: '' })],
  ['denied', (id: string) => admin.send(`/approvals/${id}`, { decision: 'deny', note: '' })],
  ['expired', async () => hub.clock.advance(approvals.expiresMs)],
  [
    'cancelled',
    (_: string, run: string) => hub.call(`/activations/${run}/cancel`, { key: ada.key, body: {} }),
  ],
] as const)(
  'M7: the inbox offers to decide what is pending, and says when it was %s',
  async (status, end) => {
    const activationId = await park()
    const pending = await readNewest()
    expect(pending).toContain('requests your approval')
    expect(pending).toContain('Decide')
    await end(encodeURIComponent(`${activationId}:call-0`), activationId)
    const ended = await readNewest()
    expect(ended).toContain('requested your approval')
    expect(ended).toContain(`<strong>${status}</strong>`)
    expect(ended).not.toContain('Decide')
  },
)

test('M7: the inbox offers the latest request of a call that was requested again', async () => {
  const activationId = await park()
  await office.run(
    'UPDATE approvals SET created_at = created_at + 1 WHERE activation_id = ?',
    activationId,
  )
  const replaced = await readNewest()
  expect(replaced).toContain('<strong>requested again</strong>')
  expect(replaced).not.toContain('Decide')
})
