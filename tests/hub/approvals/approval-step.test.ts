import { afterEach, beforeAll, expect, test } from 'vitest'
import { listKnownTools } from '../../../src/mcp-servers/gateway/known-tools'
import { hubServer } from '../../../src/mcp-servers/servers/hub'
import { signIn } from '../../web/open-pages'
import { adminKey, readCost } from '../create-test-hub'
import { createOffice } from '../runs/create-office'
import { asking, createParking } from '../runs/create-parking'

const office = createOffice()
const { hub } = office
const { parkTask, decide, decisionItems, clear } = createParking(office, () => scout.id)
let ada: Awaited<ReturnType<typeof hub.join>>
let boss: typeof ada
let scout: typeof ada
let stranger: Awaited<ReturnType<typeof signIn>>
let admin: typeof stranger
let requester: typeof stranger
let postId = ''

beforeAll(async () => {
  hub.seen.tools = listKnownTools([hubServer])
  ada = await hub.join('ada', 'human')
  boss = await hub.join('boss', 'human')
  await hub.call('/accounts/boss/role', { method: 'PUT', key: adminKey, body: { role: 'admin' } })
  scout = await office.createAgent('scout')
  await office.hubApi.sweep(hub.clock.now())
  admin = await signIn(hub)
  requester = await signIn(hub, ada.key)
  stranger = await signIn(hub, (await hub.join('stranger', 'human')).key)
})
afterEach(async () => {
  await clear()
  await office.run('DELETE FROM standing_rules')
})

const call = (callId: string, title: string) =>
  asking(callId, {
    arguments: JSON.stringify({ community: 'general', title }),
    argumentsHash: `hash-${callId}`,
    reasons: [{ kind: 'policy', entry: 'tier:write' }, { kind: 'untrusted' }],
  })

/** Parks a run of scout for ada with calls of one step. */
async function parkStep(...titles: string[]) {
  postId = await office.post(ada.key, '@scout please write')
  const approvals = titles.map((title, index) => call(`call-${index}`, title))
  return parkTask({ approvals })
}
const statuses = async () =>
  (await office.all('SELECT status FROM approvals ORDER BY rowid')).map(({ status }) => status)
const decideAll = (ids: string[], decision = 'approve', key: string = adminKey) =>
  hub.call('/approvals/decide', { key, body: { ids, decision, note: 'All of it' } })

test('C3: all calls of a step are decided in one batch, and the run resumes once', async () => {
  const run = await parkStep('One', 'Two', 'Three')
  const ids = [0, 1, 2].map((index) => `${run}:call-${index}`)
  expect((await decideAll(ids, 'approve', ada.key)).status).toBe(403)
  const answer = await decideAll(ids)
  expect(answer.status).toBe(200)
  expect(answer.body.approvals).toMatchObject(
    ids.map((id) => ({ id, status: 'approved', note: 'All of it', decided_by: { name: 'admin' } })),
  )
  expect(await decisionItems()).toHaveLength(1)
  const log = await hub.call('/admin/log?action=approval.approve&limit=3', { key: adminKey })
  expect(log.body.entries.map(({ target_id }: { target_id: string }) => target_id).sort()).toEqual(
    ids,
  )
  expect((await decideAll(ids)).status).toBe(200)
  expect((await decideAll(ids, 'deny')).status).toBe(409)
  expect(await decisionItems()).toHaveLength(1)
})

test('C3: of calls decided together only those are decided that wait; an unknown one refuses nothing else', async () => {
  const run = await parkStep('One', 'Two')
  await decide(`${run}:call-0`, 'deny')
  const answer = await decideAll([`${run}:call-0`, `${run}:call-1`])
  expect(answer.body.approvals).toMatchObject([{ status: 'denied' }, { status: 'approved' }])
  expect((await decideAll(['nothing'])).status).toBe(404)
  expect((await decideAll([])).status).toBe(400)
  expect(await decisionItems()).toHaveLength(1)
})

test('C3: the calls of one step stand together in the thread and on the page, and one click decides all of them', async () => {
  const run = await parkStep('One', 'Two', 'Three')
  for (const path of [`/p/${postId}`, '/approvals']) {
    await admin.get(path)
    const response = await admin.get(path)
    expect(readCost(response.headers).roundTrips, path).toBe(1)
    const page = (await response.text()).replaceAll('&quot;', '"').replaceAll('\u00a0', ' ')
    const at = ['"title": "One"', '"title": "Two"', '"title": "Three"', 'Approve all 3 calls'].map(
      (text) => page.indexOf(text),
    )
    expect(at, path).toEqual([...at].sort((a, b) => a - b))
    expect(at, path).not.toContain(-1)
    expect(page.match(/value="deny"/g), path).toHaveLength(4)
    expect(page).toContain('The policy requires approval for tier:write.')
    expect(page).toContain('read text by guests or from outside')
    expect(page).toContain('href="/policy/scout#require_approval"')
    expect(page).toContain('<b> 3</b>')
  }
  const ids = JSON.stringify([0, 1, 2].map((index) => `${run}:call-${index}`))
  const sent = await admin.send('/approvals', {
    ids,
    decision: 'deny',
    note: '',
    next: `/p/${postId}#working`,
  })
  expect([sent.status, sent.headers.get('location')]).toEqual([303, `/p/${postId}#working`])
  expect(await statuses()).toEqual(['denied', 'denied', 'denied'])
  expect((await admin.send('/approvals', { ids, decision: 'approve', note: '' })).status).toBe(409)
  expect((await admin.send('/approvals', { ids: 'x', decision: 'deny', note: '' })).status).toBe(
    400,
  )
  const away = { ids, decision: 'deny', note: '', next: '//evil.example/' }
  expect((await admin.send('/approvals', away)).headers.get('location')).toBe('/')
})

test('C3: a requester sees who can decide; nobody but an admin sees the calls, the buttons or the count', async () => {
  await parkStep('A secret plan')
  const thread = await requester.read(`/p/${postId}`)
  expect(thread).toContain('when @admin or @boss approves or denies the request')
  expect(await requester.read('/approvals')).toContain('Waiting for @admin or @boss.')
  expect(await stranger.read(`/p/${postId}`)).toContain('when an admin approves or denies')
  for (const page of [thread, await stranger.read(`/p/${postId}`)]) {
    expect(page).not.toContain('A secret plan')
    expect(page).not.toContain('name="decision"')
    expect(page).not.toContain('<b> 1</b>')
  }
})

const rulePath = (id: string) => `/approvals/${encodeURIComponent(id)}/rule`
const fields = { any_community: '', any_requester: '', days: '30' }

test('T20: the form shows exactly what a rule covers, and creates what it shows', async () => {
  const run = await parkStep('Weekly report 47')
  const path = rulePath(`${run}:call-0`)
  expect((await requester.get(path)).status).toBe(403)
  expect((await requester.send(path, { ...fields, do: 'create' })).status).toBe(403)
  await admin.get(path)
  const opened = await admin.get(path)
  expect(readCost(opened.headers).roundTrips).toBe(1)
  const narrow = (await opened.text()).replaceAll('&quot;', '"')
  expect(narrow).toContain('title is "Weekly report 47"')
  expect(narrow).toContain('Only in threads of m/general')
  expect(narrow).toContain('only when @ada requests')

  const typed = { ...fields, prefix_1: 'Weekly report ', any_requester: 'on', days: '7' }
  const preview = await admin.send(path, { ...typed, do: 'preview' })
  expect(preview.status).toBe(200)
  const wide = (await preview.text()).replaceAll('&quot;', '"')
  expect(wide).toContain('community is "general"\ntitle begins with "Weekly report "')
  expect(wide).toContain('whoever requests')
  expect(wide).toContain('<input type="hidden" name="prefix_1" value="Weekly report "/>')
  expect(await office.all('SELECT id FROM standing_rules')).toEqual([])
  expect(await statuses()).toEqual(['pending'])

  for (const wrong of [{ days: '91' }, { days: 'x' }, { prefix_1: 'Daily report ' }]) {
    const refused = await admin.send(path, { ...typed, ...wrong, do: 'create' })
    expect(refused.status, JSON.stringify(wrong)).toBe(400)
    expect(await refused.text()).not.toContain('id="preview"')
  }
  expect((await admin.send(path, { ...typed, do: 'create' })).status).toBe(303)
  expect(await statuses()).toEqual(['approved'])
  expect(await decisionItems()).toHaveLength(1)
  expect((await admin.send(path, { ...typed, do: 'create' })).status).toBe(409)

  const policy = (await admin.read('/policy')).replaceAll('&quot;', '"')
  expect(policy).toContain('title begins with "Weekly report "')
  expect(policy).toContain('created by @admin')
  expect(policy).toContain('not used yet')
  const [rule] = await office.all<{ id: string }>('SELECT id FROM standing_rules')
  const revoke = `/standing-rules/${rule?.id}/revoke`
  expect(policy).toContain(`action="${revoke}"`)
  expect((await requester.send(revoke, {})).status).toBe(403)
  expect((await admin.send(revoke, {})).headers.get('location')).toBe('/policy#rules')
  const after = await admin.read('/policy')
  expect(after).toContain('revoked')
  expect(after).not.toContain(revoke)
})

test('T20: a rule of a deleted account goes with its words', async () => {
  const gone = await hub.join('gone', 'human')
  postId = await office.post(gone.key, '@scout please write')
  const run = await parkTask({ approvals: [call('call-0', 'Words of gone')] })
  const { status } = await hub.call(`/approvals/${encodeURIComponent(`${run}:call-0`)}/decide`, {
    key: boss.key,
    body: { decision: 'approve', standing_rule: {} },
  })
  expect(status).toBe(200)
  expect(await office.all('SELECT id FROM standing_rules')).toHaveLength(1)
  const path = '/accounts/gone?words=remove'
  expect((await hub.call(path, { method: 'DELETE', key: adminKey })).status).toBe(200)
  expect(await office.all('SELECT id FROM standing_rules')).toEqual([])
})
