import { beforeAll, expect, test } from 'vitest'
import { adminKey, createTestHub, readCost } from '../hub/create-test-hub'
import { makeModerator } from '../hub/moderation/make-moderator'
import { type Browser, createBrowser, signIn } from './open-pages'

const hub = createTestHub()
let ada: Browser
let ria: Browser
let mo: Browser
let mia: Browser
let postId: string
let commentId: string

const join = async (name: string, isModerator: boolean): Promise<Browser> => {
  const { id, key } = await hub.join(name, 'human')
  if (isModerator) await makeModerator(id, 'general')
  return signIn(hub, key)
}

beforeAll(async () => {
  ada = await join('ada', false)
  ria = await join('ria', false)
  mo = await join('mo', true)
  mia = await join('mia', true)
  const posted = await ada.send('/posts-new', {
    community: 'general',
    title: 'Plums',
    content: 'Ripe plums',
  })
  postId = posted.headers.get('location')?.split('/')[2] ?? ''
  await ada.send(`/p/${postId}/comments`, { content: 'Rotten words', parent_id: '' })
  const { body } = await hub.call(`/posts/${postId}/comments`)
  commentId = body.comments[0].id
})

const thread = (browser: Browser) => browser.read(`/p/${postId}`)

test('T11: authors see Edit, others see Report, and only moderators see Moderate', async () => {
  const [own, other, moderator, nobody] = await Promise.all(
    [ada, ria, mo, createBrowser(hub)].map(thread),
  )
  expect(own).toContain(`/p/${postId}/edit?comment=${commentId}`)
  expect(own).not.toContain('/report')
  expect(other).toContain(`/p/${postId}/report?comment=${commentId}`)
  expect(other).not.toContain('/edit')
  expect(other).not.toContain('/moderate')
  expect(moderator?.match(/href="[^"]+\/moderate/g)).toHaveLength(2)
  expect(nobody).not.toMatch(/\/(edit|report|moderate)/)
})

test('T11: the form of a moderator is a page away from each text, for moderators alone', async () => {
  const path = `/p/${postId}/moderate?comment=${commentId}`
  const html = await mo.read(path)
  expect(html).toContain(`name="comment_id" value="${commentId}"`)
  expect(html).toContain('value="remove"')
  expect(html).toContain(`name="next" value="/p/${postId}?comment=${commentId}#c-${commentId}"`)
  expect((await ria.get(path)).status).toBe(403)
  expect((await createBrowser(hub).get(path)).headers.get('location')).toContain('/login?next=')
  expect((await mo.get(`/p/${postId}/moderate?comment=nothing`)).status).toBe(404)
})

test('T11: each text has one line of actions, whose menu says to which text it belongs', async () => {
  const html = await thread(mo)
  expect(html.match(/class="quiet"/g)).toHaveLength(2)
  expect(html).toContain('<span class="vh">More for this post</span>')
  expect(html).toContain('<span class="vh">More for the reply by ada</span>')
  expect(await thread(ria)).toContain('Report<span class="vh"> the reply by ada</span>')
})

test('T11: the author edits in the browser, and readers see that it was edited', async () => {
  const path = `/p/${postId}/edit`
  expect(await ada.read(`${path}?comment=${commentId}`)).toContain('Rotten words')
  expect((await ria.get(`${path}?comment=${commentId}`)).status).toBe(403)
  const empty = await ada.send(path, { comment_id: commentId, content: ' ' })
  expect(empty.status).toBe(400)
  expect(await empty.text()).toContain('The reply must not be empty.')
  const saved = await ada.send(path, { comment_id: commentId, content: 'Foul words' })
  expect(saved.headers.get('location')).toContain(`comment=${commentId}`)
  const page = await thread(ria)
  expect(page).toContain('Foul words')
  expect(page).toContain('>edited</a>')
  await ada.send(path, { title: 'Plums!', content: 'Ripe plums', url: '' })
  expect(await thread(ria)).toContain('Plums!</h1>')
})

test('T11: report, queue, removal, appeal and reversal work without JavaScript', async () => {
  expect(await ria.read(`/p/${postId}/report?comment=${commentId}`)).toContain('Report a reply')
  const report = { comment_id: commentId, reason: 'Insulting.' }
  const sent = await ria.send(`/p/${postId}/report`, report)
  expect(sent.status).toBe(303)
  expect(await ria.read(sent.headers.get('location') ?? '')).toContain('Report sent')
  const again = await ria.send(`/p/${postId}/report`, report)
  expect(again.status).toBe(409)
  expect(await again.text()).toContain('You have already reported this.')

  expect(await mo.read('/')).toMatch(/Moderation<b> 1<\/b>/)
  expect(await ria.read('/')).not.toContain('href="/moderation"')
  expect((await ria.get('/moderation')).status).toBe(403)
  const queue = await mo.get('/moderation')
  expect(readCost(queue.headers).roundTrips).toBe(1)
  const queued = await queue.text()
  expect(queued).toContain('Foul words')
  expect(queued).toContain('ria: Insulting.')
  const reportId = /name="report_id" value="([^"]+)"/.exec(queued)?.[1] ?? ''
  const fields = { comment_id: commentId, report_id: reportId, days: '7', next: '/moderation' }
  const removed = await mo.send(`/p/${postId}/moderate`, {
    ...fields,
    action: 'remove',
    reason: 'Keep it civil.',
  })
  expect(removed.headers.get('location')).toBe('/moderation')

  expect(await thread(ria)).toContain('Removed by a moderator: Keep it civil.')
  expect(await thread(ria)).not.toContain('Foul words')
  for (const browser of [ada, mo]) expect(await thread(browser)).toContain('Foul words')
  expect(await ria.read('/moderation/mine')).toContain('Keep it civil.')
  const log = await ria.read('/moderation/log/general')
  expect(log).toContain('Keep it civil.')
  expect(log).not.toContain('Foul words')

  const mine = await ada.read('/moderation/mine')
  const actionId = /name="action_id" value="([^"]+)"/.exec(mine)?.[1] ?? ''
  const appeal = { action_id: actionId, text: 'It is a quotation.' }
  expect((await ada.send('/moderation/mine', appeal)).status).toBe(303)
  expect(await mia.read('/moderation')).toContain('It is a quotation.')
  const decision = { decision: 'reverse', reason: 'A quotation indeed.' }
  expect((await mo.send(`/moderation/appeals/${actionId}`, decision)).status).toBe(403)
  expect((await mia.send(`/moderation/appeals/${actionId}`, decision)).status).toBe(303)
  expect(await thread(ria)).toContain('Foul words')
  expect(await ada.read('/inbox')).toContain('A quotation indeed.')
})

test('T11: reports are dismissed with a reason, and a ban is set and lifted in the browser', async () => {
  await ria.send(`/p/${postId}/report`, { comment_id: '', reason: 'Boring.' })
  const queued = await mo.read('/moderation')
  const reportId = /name="report_id" value="([^"]+)"/.exec(queued)?.[1] ?? ''
  const fields = { report_id: reportId, days: '7', next: '/moderation' }
  const moderate = (action: string, reason: string) =>
    mo.send(`/p/${postId}/moderate`, { ...fields, action, reason })
  expect((await moderate('dismiss', 'Boring is allowed.')).status).toBe(303)
  expect(await ria.read('/moderation/mine')).toContain('Boring is allowed.')
  expect((await moderate('ban', '')).status).toBe(400)
  expect((await moderate('ban', 'Shouting.')).status).toBe(303)
  const refused = await ada.send(`/p/${postId}/comments`, { content: 'Hey', parent_id: '' })
  expect(refused.status).toBe(403)
  expect(await refused.text()).toMatch(/You are banned in this community until [^<]*Shouting\./)
  const log = await mo.read('/moderation/log/general')
  const lift = /action="(\/moderation\/log\/general\/lift\/[^"]+)"/.exec(log)?.[1] ?? ''
  expect(await ria.read('/moderation/log/general')).not.toContain('/lift/')
  expect((await mo.send(lift, { reason: 'Calm now.' })).status).toBe(303)
  const posted = await ada.send(`/p/${postId}/comments`, { content: 'Hey', parent_id: '' })
  expect(posted.status).toBe(303)
})

test('T11: a removed post keeps its page and its replies; a pinned one is on top of its community', async () => {
  const moderate = (action: string) =>
    mo.send(`/p/${postId}/moderate`, { action, reason: 'Rules.', days: '', next: '/' })
  await moderate('pin')
  expect(await ria.read('/m/general')).toMatch(/aria-label="Pinned posts".*Plums!/s)
  await moderate('remove')
  const page = await thread(ria)
  expect(page).toContain('<h1 class="up">Removed post</h1>')
  expect(page).toContain('Removed by a moderator: Rules.')
  expect(page).not.toContain('Plums!')
  expect(page).toContain('Foul words')
  expect(page).not.toContain('data-compose')
  expect(await ria.read('/m/general')).not.toContain('Plums!')
  await moderate('restore')
  expect(await thread(ria)).toContain('Plums!</h1>')
})

test('T11: a page of a thread and of the log is one round trip, also for moderators', async () => {
  const admin = await signIn(hub, adminKey)
  // The first request of a session also stores when it was used.
  await admin.get('/')
  for (const browser of [mo, admin]) {
    for (const path of [`/p/${postId}`, '/moderation/log/general', '/moderation/mine', '/']) {
      expect(readCost((await browser.get(path)).headers).roundTrips, path).toBe(1)
    }
  }
})

test('T11: a rejected action of a moderator keeps the reason that was typed', async () => {
  const posted = await ada.send('/posts-new', {
    community: 'general',
    title: 'Pears',
    content: 'Ripe pears',
  })
  const id = posted.headers.get('location')?.split('/')[2] ?? ''
  const reason = 'Insults <everybody>'
  const send = (fields: Record<string, string>) =>
    mo.send(`/p/${id}/moderate`, {
      action: 'lock',
      reason,
      comment_id: '',
      report_id: '',
      days: '30',
      next: `/p/${id}`,
      ...fields,
    })
  expect((await send({})).status).toBe(303)
  const again = await send({})
  expect(again.status).toBe(409)
  expect(readCost(again.headers).roundTrips).toBeLessThan(5)
  const html = await again.text()
  expect(html).toContain('role="alert"')
  expect(html).toContain('value="Insults &lt;everybody&gt;"')
  expect(html).toMatch(/<details class="moderate" open/)
  expect(html).toContain('<option value="30" selected')
  expect(html).toContain('value="unlock"')
  expect(html).toContain(`name="next" value="/p/${id}"`)
  const long = await send({ action: 'remove', reason: 'x'.repeat(5_000) })
  expect(long.status).toBe(400)
  expect(await long.text()).toContain('The reason can have at most')
  const outsider = await ria.send(`/p/${id}/moderate`, {
    action: 'lock',
    reason: '',
    comment_id: '',
    report_id: '',
    days: '7',
    next: '/',
  })
  expect(outsider.status).toBe(403)
})

test('T11: deleting asks once, and the next page says that it was done', async () => {
  const sent = await ada.send('/posts-new', { community: 'general', title: 'Brief', content: '' })
  const id = sent.headers.get('location')?.split('/')[2] ?? ''
  await ada.send(`/p/${id}/comments`, { content: 'Briefer', parent_id: '' })
  const reply = (await hub.call(`/posts/${id}/comments`)).body.comments[0].id
  for (const [query, noun, fields] of [
    [`?comment=${reply}`, 'reply', { comment_id: reply }],
    ['', 'post', {}],
  ] as const) {
    const form = await ada.read(`/p/${id}/edit${query}`)
    expect(form).toMatch(
      new RegExp(
        `<details[^>]*><summary[^>]*>Delete this ${noun}</summary><form[^>]*/p/${id}/delete`,
      ),
    )
    const deleted = await ada.send(`/p/${id}/delete`, fields)
    const next = await ada.read(deleted.headers.get('location') ?? '')
    expect(next).toMatch(new RegExp(`role="status">${noun} deleted<`, 'i'))
  }
  expect(await ada.read('/m/general')).not.toContain('deleted<')
})

test('T11: a form that does not show the newest edit is refused once, and keeps what was typed', async () => {
  const sent = await ada.send('/posts-new', { community: 'general', title: 'Two', content: 'Old' })
  const id = sent.headers.get('location')?.split('/')[2] ?? ''
  await ada.send(`/p/${id}/comments`, { content: 'Old', parent_id: '' })
  const reply = (await hub.call(`/posts/${id}/comments`)).body.comments[0].id
  const path = `/p/${id}/edit`
  const readBase = (html: string) => /name="base" value="(\d+)"/.exec(html)?.[1] ?? ''
  for (const [query, fields] of [
    ['', { title: 'Two', url: '' }],
    [`?comment=${reply}`, { comment_id: reply }],
  ] as const) {
    const base = readBase(await ada.read(path + query))
    expect(base).toBe('0')
    hub.clock.advance(1)
    expect((await ada.send(path, { ...fields, base, content: 'From one tab' })).status).toBe(303)
    const refused = await ada.send(path, { ...fields, base, content: 'From another' })
    expect(refused.status).toBe(409)
    const html = await refused.text()
    expect(html).toContain('>From another</textarea>')
    expect(await ada.read(path + query)).toContain('>From one tab</textarea>')
    const again = { ...fields, base: readBase(html), content: 'From another' }
    hub.clock.advance(1)
    expect((await ada.send(path, again)).status).toBe(303)
    expect(await ada.read(path + query)).toContain('>From another</textarea>')
  }
})
