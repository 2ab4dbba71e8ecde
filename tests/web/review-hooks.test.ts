import { afterEach, expect, test } from 'vitest'
import { recordPush } from '../hub/agents/record-push'
import { readCost } from '../hub/create-test-hub'
import { createOffice } from '../hub/runs/create-office'
import { newEventId, person, repository, review, signEvent } from '../support/github-events'
import { signIn } from './open-pages'

interface Hook {
  id: string
  secret: string
}

const office = createOffice()
const { hub } = office
const mira = await hub.join('mira', 'human')
const ada = await hub.join('ada', 'human')
const coder = await office.createAgent('coder')
await office.createAgent('finch')
await office.hubApi.sweep(hub.clock.now())
const made = await hub.call('/review-hooks', { key: mira.key, body: { agent: 'coder' } })
/** Mira's, for coder. */
const hook: Hook = made.body.hook

/** Sends an event as GitHub does. */
async function send(payload: object, { id, secret } = hook, event = 'pull_request_review') {
  const signature = await signEvent(JSON.stringify(payload), secret)
  const headers = { 'x-github-event': event, 'x-hub-signature-256': signature }
  hub.clock.advance(1)
  const { status, body } = await hub.call(`/review-hooks/${id}/deliveries`, {
    body: payload,
    headers,
  })
  return { status, outcome: body.outcome }
}

const path = '/settings/review-hooks'
const [own, other] = await Promise.all([signIn(hub, mira.key), signIn(hub, ada.key)])
const readHooks = async () => (await hub.call('/review-hooks', { key: mira.key })).body.hooks
const readLast = async () =>
  (await readHooks()).find(({ id }: Hook) => id === hook.id).last_delivery

afterEach(() => office.clear())

test('X15: a hook made on the page shows address and secret once, and takes what is signed with it', async () => {
  const made = await own.send(path, { agent: '@finch' })
  expect([made.status, made.headers.get('location')]).toEqual([200, null])
  const html = await made.text()
  const secret = /[0-9a-f]{64}/.exec(html)?.[0] ?? ''
  const url = /http:\/\/hub\.test\/api\/v1\/review-hooks\/([\w-]+)\/deliveries/.exec(html)
  const created = { id: url?.[1] ?? '', secret }
  expect(html).toContain('application/json')
  expect(html).toContain('Pull request review comments')
  expect(await send(review('no/such-branch'), created)).toMatchObject({
    ...{ status: 202, outcome: 'ignored' },
  })
  const later = await own.get(path)
  expect(readCost(later.headers).roundTrips).toBe(1)
  const shown = await later.text()
  expect(shown).not.toContain(secret)
  expect(shown).toContain(created.id)
  expect(await other.read(path)).not.toContain(created.id)
})

test('X15: the last delivery of a hook is shown with what became of it, and only one that is signed', async () => {
  expect(await own.read(path)).toContain('No delivery yet')
  expect((await send(review('x'), { ...hook, secret: 'wrong' })).status).toBe(401)
  expect(await readLast()).toBeNull()
  await send(review('no/such-branch'))
  expect(await readLast()).toMatchObject({
    ...{ outcome: 'ignored', reason: expect.stringContaining('No thread') },
  })
  expect(await own.read(path)).toContain('No thread that the owner of the hook reads')
  await office.post(mira.key, '@coder please fix the date parser')
  const { activationId } = await office.start(coder.id)
  const branch = 'rookery/coder-1'
  const push = { ref: `refs/heads/${branch}`, isOk: true, at: hub.clock.now() }
  await recordPush(office.hubApi, { agentId: coder.id, activationId }, push)
  await office.commit(coder.id, activationId)
  hub.clock.advance(60_000)
  const said = { id: newEventId(), body: 'And the tests?', ...person() }
  const issue = { number: 12, pull_request: {} }
  const onPull = { action: 'created', repository, issue, comment: said }
  for (const [outcome, label, payload, event] of [
    ['held', 'held until the review is whole', review(branch), 'pull_request_review'],
    ['started', 'continued its thread', onPull, 'issue_comment'],
  ] as const) {
    expect((await send(payload, hook, event)).outcome).toBe(outcome)
    const at = new Date(hub.clock.now()).toISOString()
    expect(await readLast()).toEqual({ at, outcome, reason: null })
    expect(await own.read(path)).toContain(label)
  }
})

test('X15: what the API refuses, the page refuses beside its form', async () => {
  const unknown = await own.send(path, { agent: 'nobody-here' })
  expect(unknown.status).toBe(404)
  const html = await unknown.text()
  expect(html).toContain('value="nobody-here"')
  expect(html).toContain('Only agents that run on this hub')
  expect((await own.send(path, { agent: ' ' })).status).toBe(400)
  await office.run(`UPDATE accounts SET role = 'guest' WHERE id = ?`, ada.id)
  expect(await other.read(path)).not.toContain('name="agent"')
  expect((await other.send(path, { agent: 'finch' })).status).toBe(403)
  await office.run(`UPDATE accounts SET role = 'member' WHERE id = ?`, ada.id)
})

test('X15: a hook is deleted after a question, by its owner alone', async () => {
  const deletePath = `${path}/${hook.id}/delete`
  for (const { status } of [await other.get(deletePath), await other.send(deletePath, {})]) {
    expect(status).toBe(404)
  }
  const asked = await own.read(deletePath)
  expect(asked).toContain('coder')
  expect(asked).toContain(`action="${deletePath}"`)
  expect(await readHooks()).toHaveLength(2)
  const done = await own.send(deletePath, {})
  expect([done.status, done.headers.get('location')]).toEqual([303, path])
  expect((await readHooks()).map(({ agent }: { agent: { name: string } }) => agent.name)).toEqual([
    'finch',
  ])
  expect((await own.get(deletePath)).status).toBe(404)
})
