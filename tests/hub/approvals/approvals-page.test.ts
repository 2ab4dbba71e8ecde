import { afterEach, beforeAll, expect, test } from 'vitest'
import { formatArguments } from '../../../src/web/approvals/format-arguments'
import { createBrowser, signIn } from '../../web/open-pages'
import { createOffice } from '../activations/create-office'
import { asking, createParking } from '../activations/create-parking'
import { adminKey } from '../create-test-hub'

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
  expect(page).toContain('require_approval')
})

test('M7: the page shows what would run, escaped and one argument a line, and where it was asked', async () => {
  const activationId = await park()
  const page = await read()
  expect(page).toContain('hub.create_post')
  expect(page).toContain('  "title": "Hello",\n  "content": "&lt;b&gt;bold&lt;/b&gt;"')
  expect(page).toContain('<code>hub:write</code>, writes')
  expect(page).toContain(`href="/activations/${activationId}"`)
  expect(page).toContain('A question')
  expect(page).toContain('<a class="wide" href="/approvals"')
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
  expect(page).toContain('Waiting for an admin.')
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
  'H14: a key in the call of %s is shown on no page, in no inbox and not by the API',
  async (_, isHosted) => {
    const secret = `ghp_${'a1B2'.repeat(9)}`
    const pem = ['-----BEGIN PRIVATE KEY-----', 'MIIE', '-----END PRIVATE KEY-----'].join('\n')
    const args = JSON.stringify({ title: 'Hello', content: `Use ${secret}`, note: pem, end: 'Bye' })
    if (isHosted) await park(args)
    else {
      const request = asking('call-9', { arguments: args })
      await office.hubApi.requestApproval(ada.id, { ...request, argumentsHash: 'hash-9' })
    }
    const api = await hub.call('/approvals', { key: adminKey })
    const shown = [await read(), await admin.read('/inbox'), JSON.stringify(api.body)]
    for (const text of shown) {
      expect(text).not.toContain(secret)
      expect(text).not.toContain('MIIE')
      expect(text).toContain('Use [withheld]')
    }
    expect(shown[0]).toContain('"end": "Bye"')
    const [kept] = await office.all('SELECT arguments_hash AS hash FROM approvals')
    expect(kept).toEqual({ hash: isHosted ? 'hash-1' : 'hash-9' })
  },
)
