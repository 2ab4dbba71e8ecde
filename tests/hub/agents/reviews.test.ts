import { afterEach, expect, test } from 'vitest'
import {
  newEventId,
  person,
  pullOf,
  repository,
  review,
  signEvent,
} from '../../support/github-events'
import { adminKey } from '../create-test-hub'
import { type Account, createReviewOffice, type Sent } from './review-office'

const { office, mira, ada, coder, finch, hook, createHook, ...done } = await createReviewOffice()
const { send, sendWhole, settle, answer, comments, pushFrom, waiting } = done
const { hub, first, all, run } = office

afterEach(async () => {
  await office.clear()
  await run('DELETE FROM pushed_branches')
  await run(`UPDATE communities SET visibility = 'public'`)
  hub.seen.woken = []
})

test('X15: a review of a branch that a run pushed continues its thread, asked by the owner of the hook', async () => {
  const { postId, branch } = await pushFrom()
  expect(await send(review(branch))).toMatchObject({ status: 202, outcome: 'held', trips: 3 })
  await settle()
  const [, shown] = await comments(postId)
  expect(shown).toMatchObject({
    is_untrusted: 1,
    parent_id: null,
    author_id: '00000000-0000-7000-8000-000000000001',
    content:
      '**octocat** requested changes on [Acme/Tools#12](https://github.com/Acme/Tools/pull/12):\n\n> Please handle leap years.',
  })
  expect(await waiting(coder)).toMatchObject([
    { type: 'reply', cause: 'follow_up', post_id: postId, comment_id: shown?.id, is_untrusted: 1 },
  ])
  expect(hub.seen.woken).toEqual([coder.id])
  expect(hub.seen.published.at(-1)?.topic).toBe(`post:${postId}`)
  const page = await (await hub.fetch(`/p/${postId}`)).text()
  expect(page).toMatch(/<strong>octocat<\/strong> requested changes on <a /)

  // The run has the requester of the first one, so that its session can be loaded, and answers in the thread.
  const run = await answer(coder)
  expect(run).toMatchObject({
    task: 'reply',
    hasUntrustedText: true,
    thread: { post: { id: postId } },
  })
  expect(run.requesters).toMatchObject([{ name: 'mira', role: 'member' }])
  expect(run.thread?.comments.at(-1)?.author.kind).toBe('system')
  expect((await comments(postId)).at(-1)).toMatchObject({ id: run.id, parent_id: shown?.id })

  // Comments on lines and on the pull request do the same; the latter are found by its number.
  const line = {
    id: newEventId(),
    path: 'src/dates.ts',
    line: 29,
    body: 'Off by one.\n\n@coder <b>no</b>',
  }
  const lined = { action: 'created', repository, pull_request: pullOf(branch) }
  const comment = { ...line, ...person() }
  await sendWhole({ ...lined, comment }, { event: 'pull_request_review_comment' })
  const said = { id: newEventId(), body: 'And the tests?', ...person('ada', 'OWNER') }
  const issue = { number: 12, pull_request: { url: 'x' } }
  const onPull = { action: 'created', repository, issue, comment: said }
  expect((await send(onPull, { event: 'issue_comment' })).outcome).toBe('started')
  expect((await comments(postId)).slice(-2).map(({ content }) => content)).toEqual([
    '**octocat** commented on `src/dates.ts:29` of [Acme/Tools#12](https://github.com/Acme/Tools/pull/12):\n\n> Off by one.\n> \n> @coder <b>no</b>',
    '**ada** commented on [Acme/Tools#12](https://github.com/Acme/Tools/pull/12):\n\n> And the tests?',
  ])
  expect((await answer(coder)).items).toHaveLength(2)
})

test('X15: a review that arrives while its run works joins it as a text from outside', async () => {
  const { postId, branch } = await pushFrom()
  await office.comment(mira.key, postId, '@coder and the tests?')
  const { activationId } = await office.start(coder.id)
  await sendWhole(review(branch))
  const text = expect.stringContaining('leap years')
  expect(await office.renew(coder.id, activationId)).toMatchObject({
    steering: [{ from: { kind: 'system' }, isUntrusted: true, text }],
  })
})

test('X15: the number of a pull request is known from its own events, and from none of a fork', async () => {
  const { branch } = await pushFrom()
  const opened = { action: 'opened', repository, number: 12, pull_request: pullOf(branch) }
  const comment = { id: newEventId(), body: 'And the tests?', ...person() }
  const issue = { number: 12, pull_request: {} }
  const onPull = { action: 'created', repository, issue, comment }
  const upstream = { full_name: 'upstream/tools' }
  expect((await send({ ...opened, repository: upstream }, { event: 'pull_request' })).outcome).toBe(
    'noted',
  )
  expect((await send(onPull, { event: 'issue_comment' })).outcome).toBe('ignored')
  expect((await send(opened, { event: 'pull_request' })).outcome).toBe('noted')
  expect(await waiting(coder)).toEqual([])
  expect((await send(onPull, { event: 'issue_comment' })).outcome).toBe('started')
  const plain = { ...onPull, issue: { number: 12 }, comment: { ...comment, id: newEventId() } }
  expect((await send(plain, { event: 'issue_comment' })).outcome).toBe('ignored')
})

test('X15: a delivery counts once, also under another id, and one without a valid signature never', async () => {
  const { postId, branch } = await pushFrom()
  const payload = review(branch)
  for (const secret of ['x', hook.id, (await createHook(ada, coder)).secret]) {
    expect(await send(payload, { secret })).toMatchObject({ status: 401, code: 'UNAUTHORIZED' })
  }
  const unsigned = { body: payload, headers: { 'x-github-event': 'pull_request_review' } }
  expect((await hub.call(`/triggers/${hook.id}`, unsigned)).status).toBe(401)
  const outcomes = await Promise.all(
    ['same', 'same', 'other'].map(async (delivery) => (await send(payload, { delivery })).outcome),
  )
  expect(outcomes.sort()).toEqual(['held', 'ignored', 'ignored'])
  hub.clock.advance(40 * 24 * 3_600_000)
  expect((await send(payload)).outcome).toBe('ignored')
  await settle()
  expect(await comments(postId)).toHaveLength(2)
  expect(await waiting(coder)).toHaveLength(1)
})

const starts = async (payload: object, sent?: Sent): Promise<boolean> => {
  const before = await first('SELECT count(*) AS n FROM comments')
  const { status, outcome } = await sendWhole(payload, sent)
  expect([200, 202, 403, 404]).toContain(status)
  const isStarted = outcome === 'started' || outcome === 'held'
  const tasks = [...(await waiting(coder)), ...(await waiting(finch))]
  if (isStarted) expect(tasks).not.toEqual([])
  else {
    expect(await first('SELECT count(*) AS n FROM comments')).toEqual(before)
    expect(tasks).toEqual([])
  }
  return isStarted
}

test('X15: nothing starts for another repository or branch, another agent, or a push that failed', async () => {
  const { branch } = await pushFrom()
  const other = await pushFrom(finch)
  const failed = await pushFrom(coder, false)
  expect(await starts(review(branch, {}, { full_name: 'acme/others' }))).toBe(false)
  expect(await starts(review(branch, {}, null))).toBe(false)
  expect(await starts(review('main'))).toBe(false)
  expect(await starts(review(other.branch))).toBe(false)
  expect(await starts(review(failed.branch))).toBe(false)
  // The hook of the agent that pushed it takes it.
  expect(await starts(review(other.branch), { hook: await createHook(mira, finch) })).toBe(true)
})

test('X15: nothing starts without a text, from strangers, from the own tools, and by other events', async () => {
  const { branch } = await pushFrom()
  for (const state of ['approved', 'commented']) {
    for (const body of ['', null, '  ']) {
      expect(await starts(review(branch, { state, body }))).toBe(false)
    }
  }
  for (const association of ['NONE', 'CONTRIBUTOR', 'FIRST_TIMER', '']) {
    expect(await starts(review(branch, person('eve', association)))).toBe(false)
  }
  expect(await starts(review(branch, { body: 'Done.\n\n<!-- rookery:0a1b -->' }))).toBe(false)
  expect(await starts({ ...review(branch), action: 'edited' })).toBe(false)
  expect(await starts(review(branch), { event: 'push' })).toBe(false)
  expect(await starts({ zen: 'Keep it simple.' }, { event: 'ping' })).toBe(false)
  expect(await starts({ ...review(branch), pull_request: 7 })).toBe(false)
  expect(await starts(review(branch, { state: 'approved', body: 'Rename it first.' }))).toBe(true)
})

test('X15 T21: a private community stays private, and who must not write there starts nothing', async () => {
  const { postId, branch } = await pushFrom()
  const other = await createHook(ada, coder)
  await run(`UPDATE communities SET visibility = 'private' WHERE name = 'general'`)
  const admit = ({ id }: Account) =>
    run(
      `INSERT INTO community_members (community_id, account_id, role, created_at)
       SELECT id, ?, 'member', 0 FROM communities WHERE name = 'general'`,
      id,
    )
  // Neither of them reads it; then only mira, without the agent; then both.
  expect(await starts(review(branch))).toBe(false)
  await admit(mira)
  expect(await starts(review(branch))).toBe(false)
  await admit(coder)
  expect(await starts(review(branch), { hook: other })).toBe(false)
  await run(`UPDATE accounts SET role = 'guest' WHERE id = ?`, mira.id)
  expect(await starts(review(branch))).toBe(false)
  await run(`UPDATE accounts SET role = 'member', disabled_at = 1 WHERE id = ?`, mira.id)
  expect(await starts(review(branch))).toBe(false)
  await run(`UPDATE accounts SET disabled_at = NULL WHERE id = ?`, mira.id)
  await run('UPDATE posts SET is_locked = 1 WHERE id = ?', postId)
  expect(await starts(review(branch))).toBe(false)
  await run('UPDATE posts SET is_locked = 0 WHERE id = ?', postId)
  expect(await starts(review(branch))).toBe(true)
  await run('DELETE FROM community_members WHERE account_id IN (?, ?)', mira.id, coder.id)
})

test('X15: after a stop in the thread a review starts nothing until the agent is asked again', async () => {
  const { postId, branch } = await pushFrom()
  await office.comment(mira.key, postId, '@coder stop')
  expect(await starts(review(branch))).toBe(false)
  await office.comment(mira.key, postId, '@coder go on')
  await answer(coder)
  expect(await starts(review(branch))).toBe(true)
})

test('X15: people who are members create hooks; a secret is shown once, and ends with its hook', async () => {
  const { branch } = await pushFrom()
  const guest = await hub.call('/accounts', { body: { name: 'gus' } })
  const post = (key: string, agent: string, change: object = {}) => {
    const body = { agent, takes_reviews: true, verify: 'github', ...change }
    return hub.call('/triggers', { key, body })
  }
  expect((await post(guest.body.account.api_key, 'coder')).status).toBe(403)
  expect((await post(finch.key, 'coder')).status).toBe(403)
  expect((await post(mira.key, 'ada')).status).toBe(404)
  for (const wrong of [
    { verify: 'standard' },
    { template: 'x' },
    { community: 'general' },
    { agent: undefined, community: 'general' },
    { takes_reviews: false },
  ]) {
    expect((await post(mira.key, 'coder', wrong)).status).toBe(400)
  }
  const made = await createHook(mira, coder)
  expect(made.url).toBe(`http://hub.test/api/v1/triggers/${made.id}`)
  const { body } = await hub.call('/triggers', { key: mira.key })
  expect(body.triggers[0]).toMatchObject({
    id: made.id,
    agent: { name: 'coder' },
    takes_reviews: true,
    template: '',
    per_hour_max: 600,
    deliveries: [],
  })
  expect(JSON.stringify(body)).not.toContain(made.secret)
  expect((await hub.call('/triggers', { key: ada.key })).body.triggers).not.toContainEqual(
    expect.objectContaining({ id: made.id }),
  )
  const path = `/triggers/${made.id}`
  expect((await hub.call(path, { key: ada.key, method: 'DELETE' })).status).toBe(404)
  expect((await hub.call(path, { key: mira.key, method: 'DELETE' })).status).toBe(200)
  expect(await starts(review(branch), { hook: made })).toBe(false)
  for (let made = 0; made < 20; made++) await post(ada.key, 'coder')
  expect((await post(ada.key, 'coder')).body.code).toBe('CONFLICT')
  const own = { key: adminKey, method: 'DELETE' }
  expect((await hub.call(`/accounts/${ada.name}?words=keep`, own)).status).toBe(200)
  const left = await all('SELECT id FROM triggers WHERE account_id = ?', ada.id)
  expect(left).toEqual([])
})

test('X15: text from outside is masked, bounded and quoted, and names that are none are left out', async () => {
  const { postId, branch } = await pushFrom()
  const body = `use sk-${'a'.repeat(30)}\r${'\u2028x\n'.repeat(9_000)}`
  const fields = { body, ...person('](x) @coder') }
  expect((await sendWhole(review(branch, fields))).outcome).toBe('held')
  const texts = (await comments(postId)).slice(1).map(({ content }) => String(content))
  expect(texts[0]).toMatch(/^\*\*Somebody\*\* requested/)
  expect(texts.join()).not.toContain('sk-aaa')
  // Nothing of a long text is left out.
  expect(texts.join().split('\u2028x')).toHaveLength(9_001)
  for (const text of texts) {
    expect(text.length).toBeLessThanOrEqual(8_000)
    for (const line of text.split('\n').slice(2)) expect(line).toMatch(/^(>|$)/)
  }
})

test('X15: in the dialect of existing clients a signature is for the same text', async () => {
  const { branch } = await pushFrom()
  const text = JSON.stringify({ ...review(branch), title: null }, null, 2)
  const signature = await signEvent(text, hook.secret)
  const headers = { 'x-github-event': 'pull_request_review', 'x-hub-signature-256': signature }
  const path = hook.url.replace('http://hub.test/', '/compat/')
  const response = await hub.fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: text,
  })
  expect([response.status, await response.json()]).toMatchObject([202, { accepted: true }])
})
