import { afterEach, expect, test } from 'vitest'
import { recordPush } from '../hub/agents/record-push'
import { adminKey, readCost } from '../hub/create-test-hub'
import { createOffice } from '../hub/runs/create-office'
import { review, signEvent } from '../support/github-events'
import { signIn } from './open-pages'

const office = createOffice()
const { hub } = office
const mira = await hub.join('mira', 'human')
const ada = await hub.join('ada', 'human')
await office.createAgent('scout')
const path = '/settings/triggers'
const place = '/m/general/settings/triggers'
const own = await signIn(hub, mira.key)
const other = await signIn(hub, ada.key)
const admin = await signIn(hub, adminKey)
const fields = { template: 'News: {{ issue.title }}', verify: 'github', per_hour_max: '60' }

/** Returns what a page with a secret shows. */
const readShown = (html: string) => ({
  secret: /rktrigger_[\w-]{43}/.exec(html)?.[0] ?? '',
  id: /http:\/\/hub\.test\/api\/v1\/triggers\/([\w-]+)/.exec(html)?.[1] ?? '',
})
async function send(
  { id, secret }: { id: string; secret: string },
  event: string,
  payload: object,
) {
  const text = JSON.stringify(payload)
  const headers = { 'x-github-event': event, 'x-hub-signature-256': await signEvent(text, secret) }
  hub.clock.advance(1)
  return (await hub.call(`/triggers/${id}`, { body: text, headers })).status
}

afterEach(async () => {
  await office.run('DELETE FROM triggers')
  await office.clear()
})

test('O2: a trigger made on the page shows address, secret and example once, and what became of its deliveries', async () => {
  const made = await own.send(path, { ...fields, community: 'm/general', agent: '' })
  expect([made.status, made.headers.get('location')]).toEqual([200, null])
  const html = await made.text()
  const trigger = readShown(html)
  for (const shown of [
    'Payload URL',
    'Content type',
    'application/json',
    'X-Hub-Signature-256',
    'openssl dgst',
    'the title',
  ]) {
    expect(html).toContain(shown)
  }
  expect(await send(trigger, 'ping', {})).toBe(200)
  expect(await send({ ...trigger, secret: 'wrong' }, 'issues', {})).toBe(401)
  expect(await send(trigger, 'issues', { issue: { title: 'It is slow' } })).toBe(202)
  const later = await own.get(path)
  expect(readCost(later.headers).roundTrips).toBe(1)
  const shown = await later.text()
  expect(shown).not.toContain(trigger.secret)
  expect(shown).toMatch(/\(issues\): accepted\..*Open the post/s)
  expect(shown).toContain('refused. The signature of the delivery is missing or wrong')
  expect(shown).toContain('answered. A ping starts nothing.')
  expect(await other.read(path)).not.toContain(trigger.id)

  const renewed = readShown(await (await own.send(`${path}/${trigger.id}/secret`, {})).text())
  expect(renewed.id).toBe(trigger.id)
  expect(renewed.secret).not.toBe(trigger.secret)
  expect(await send(renewed, 'issues', { issue: { title: 'Again' } })).toBe(202)
})

test('O2: lists and thread say that a trigger wrote a post, and the API does', async () => {
  const made = await own.send(path, { ...fields, community: 'general', agent: '' })
  const title = 'Written by a service'
  expect(await send(readShown(await made.text()), 'issues', { issue: { title } })).toBe(202)
  const byHand = { community: 'general', title: 'By hand', content: 'Words' }
  const { body } = await hub.call('/posts', { key: mira.key, body: byHand })
  expect(body.post.is_triggered).toBe(false)
  const { posts } = (await hub.call('/feed?sort=new')).body
  const found = posts.find((post: { content: string }) => post.content.includes(title))
  expect(found.is_triggered).toBe(true)
  expect(await own.read(`/p/${found.id}`)).toContain('<span>by trigger</span>')
  expect(await own.read(`/p/${body.post.id}`)).not.toContain('by trigger')
  const rows = (await own.read('/?sort=new')).split('<li')
  const rowOf = (id: string) => rows.find((row) => row.includes(`"/p/${id}"`))
  expect(rowOf(found.id)).toContain('<span>by trigger</span>')
  expect(rowOf(body.post.id)).not.toContain('by trigger')
})

test('O1 O2: forms suggest the communities that the viewer reads, and the agents of this hub', async () => {
  await hub.call('/communities', { key: ada.key, body: { name: 'attic', visibility: 'private' } })
  const readList = (html: string, id: string) =>
    new RegExp(`<datalist id="${id}">(.*?)</datalist>`, 's').exec(html)?.[1]
  for (const page of [path, '/settings/webhooks']) {
    const html = await own.read(page)
    expect(html).toMatch(/<input[^>]*list="communities"/)
    expect(readList(html, 'communities')).toContain('value="general"')
    expect(readList(html, 'communities')).not.toContain('attic')
    expect(readList(await other.read(page), 'communities')).toContain('attic')
  }
  expect(readList(await own.read(path), 'agents')).toContain('value="scout"')
  expect(await own.read(place)).not.toContain('<datalist')
})

test('O2: the page of a community shows a moderator all of its triggers, and others their own', async () => {
  const made = await own.send(place, { ...fields, agent: 'scout' })
  const { id } = readShown(await made.text())
  expect(id).not.toBe('')
  expect(await own.read('/m/general/settings')).toContain(`href="${place}"`)
  expect(await own.read(place)).toContain(id)
  expect(await other.read(place)).not.toContain(id)
  const shown = await admin.read(place)
  expect(shown).toContain(id)
  expect(shown).not.toContain(`${id}/secret`)
  expect((await other.get(`${path}/${id}/delete`)).status).toBe(404)
  expect(await admin.read(`${path}/${id}/delete`)).toContain(`href="${place}"`)
  expect((await admin.send(`${path}/${id}/delete`, {})).status).toBe(303)
  expect(await own.read(place)).not.toContain(id)
  expect((await own.get('/m/nowhere/settings/triggers')).status).toBe(404)
})

test('X15: a trigger for reviews shows which events it takes, and what became of each', async () => {
  const coder = await office.createAgent('coder')
  await office.hubApi.sweep(hub.clock.now())
  const made = await own.send(path, {
    ...fields,
    community: '',
    agent: '@coder',
    takes_reviews: 'on',
  })
  expect(made.status).toBe(200)
  const html = await made.text()
  const trigger = readShown(html)
  expect(html).toContain('Pull request review comments')
  expect(html).not.toContain('openssl')
  const branch = 'rookery/coder-1'
  expect(await send(trigger, 'pull_request_review', review('no/such-branch'))).toBe(200)
  expect(await own.read(path)).toContain('ignored. No thread that the owner of the trigger reads')
  await office.post(mira.key, '@coder please fix the date parser')
  const { activationId } = await office.start(coder.id)
  const push = { ref: `refs/heads/${branch}`, isOk: true, at: hub.clock.now() }
  await recordPush(office.hubApi, { agentId: coder.id, activationId }, push)
  await office.commit(coder.id, activationId)
  hub.clock.advance(60_000)
  expect(await send(trigger, 'pull_request_review', review(branch))).toBe(202)
  const shown = await own.read(path)
  expect(shown).toContain('accepted. It starts a run with the rest of its review')
  expect(shown).toContain('Brings reviews of pull requests to')
})

test('O2: a form that is not right says what to correct and keeps what was typed', async () => {
  const refused = async (change: Record<string, string>) => {
    const answer = await own.send(path, { ...fields, community: 'general', agent: '', ...change })
    expect([400, 404]).toContain(answer.status)
    return answer.text()
  }
  expect(await refused({ template: 'x {{ a b }}' })).toMatch(/x \{\{ a b \}\}.*is not a path/s)
  expect(await refused({ agent: 'scout' })).toContain('not both')
  expect(await refused({ community: '' })).toContain('Enter the name of')
  expect(await refused({ per_hour_max: '0' })).toContain('from 1 to 600')
  expect(await refused({ community: 'nowhere' })).toContain('There is no such community')
  expect(await office.all('SELECT 1 FROM triggers')).toEqual([])
})
