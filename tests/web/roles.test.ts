import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { createBrowser, createScene, signIn } from './open-pages'

const { hub, mira, scout, activationId } = await createScene()
const [admin, person] = await Promise.all([signIn(hub), signIn(hub, mira.key)])

const roleOf = async (name: string) =>
  env.DB.prepare('SELECT role FROM accounts WHERE name = ?').bind(name).first('role')

test('T1: an admin changes a role on the page of the account; others see it', async () => {
  const page = `/a/${scout.name}`
  expect(await person.read(page)).toContain('<dt>Role</dt><dd>Member</dd>')
  expect(await person.read(page)).not.toContain(`${page}/role`)
  expect(await admin.read(page)).toContain(`action="${page}/role"`)
  // Nobody gives up the role of an admin by mistake.
  expect(await admin.read('/a/admin')).not.toContain('action="/a/admin/role"')
  expect((await person.send(`${page}/role`, { role: 'admin' })).status).toBe(403)
  expect((await createBrowser(hub).send(`${page}/role`, { role: 'admin' })).status).toBe(401)
  expect((await admin.send(`${page}/role`, { role: 'owner' })).status).toBe(400)
  expect(await roleOf(scout.name)).toBe('member')
  const response = await admin.send(`${page}/role`, { role: 'guest' })
  expect([response.status, response.headers.get('location')]).toEqual([303, page])
  expect(await person.read(page)).toContain('<dt>Role</dt><dd>Guest</dd>')
})

test('T1: the menu leads to the first tab of the admin pages, for admins alone', async () => {
  const entries = /href="([^"]+)"[^>]*>People</g
  const html = await admin.read('/')
  const paths = [...html.matchAll(entries)].map(([, path]) => path)
  expect(paths).toEqual(['/admin/people'])
  expect(await admin.read('/admin/people')).toMatch(
    /aria-label="Administration"><a href="\/admin\/people" aria-current="page"/,
  )
  expect(await person.read('/')).not.toMatch(entries)
})

test('H7: one follows people and agents, and subscribes to communities, with buttons of their pages', async () => {
  const paths = [`/a/${scout.name}`, '/m/general'] as const
  const forms = ['follow', 'subscribe'] as const
  for (const [at, path] of paths.entries()) {
    const form = `${path}/${forms[at]}`
    const buttonOf = async (browser = person) =>
      new RegExp(`action="${form}"><button[^>]*>([^<]+)<`).exec(await browser.read(path))?.[1]
    const start = at === 0 ? 'Follow' : 'Subscribe'
    expect(await buttonOf()).toBe(start)
    expect(await buttonOf(createBrowser(hub))).toBeUndefined()
    const sent = await person.send(form, { on: 'yes' })
    expect([sent.status, sent.headers.get('location')]).toEqual([303, path])
    expect(await buttonOf()).toBe(at === 0 ? 'Unfollow' : 'Unsubscribe')
    expect(await buttonOf(admin)).toBe(start)
    expect((await person.send(form, { on: 'no' })).status).toBe(303)
    expect(await buttonOf()).toBe(start)
    expect((await createBrowser(hub).send(form, { on: 'yes' })).status).toBe(401)
  }
  expect(await person.read(`/a/${mira.name}`)).not.toContain(`/a/${mira.name}/follow`)
  expect((await person.send(`/a/${mira.name}/follow`, { on: 'yes' })).status).toBe(400)
})

test('T1: the page of a run says on whose behalf it ran, except for a direct message', async () => {
  const page = `/activations/${activationId}`
  const setRequesters = (task: string) =>
    env.DB.prepare(
      `UPDATE activation_traces SET trace = json_set(trace, '$.events[1].facts.task', ?2, '$.events[1].facts.requesters', json('[{"name":"ada","role":"guest"}]'))
       WHERE activation_id = ?1`,
    )
      .bind(activationId, task)
      .run()
  await setRequesters('mention')
  expect(await person.read(page)).toContain('on behalf of @ada (guest)')
  await setRequesters('dm')
  expect(await person.read(page)).not.toContain('@ada')
  expect(await admin.read(page)).toContain('on behalf of @ada (guest)')
})

test('T1: who decided the calls of a run or moderated its thread has not asked for it', async () => {
  const path = `/activations/${activationId}`
  const others = [
    { ...(await hub.join('decider', 'human')), type: 'approval_decision', cause: null },
    { ...(await hub.join('moderator', 'human')), type: 'comment', cause: 'moderation' },
  ]
  for (const { id, type, cause } of others) {
    await env.DB.prepare(
      `INSERT INTO inbox_items (id, account_id, type, from_account_id, created_at, read_at, claimed_by, cause)
       VALUES (?, ?, ?, ?, 1, 1, ?, ?)`,
    )
      .bind(`of ${id}`, scout.id, type, id, activationId, cause)
      .run()
  }
  const [line = ''] = /asked by<.*?<time/s.exec(await person.read(path)) ?? []
  expect(line).toContain(`/a/${mira.name}"`)
  const cancel = async (key: string) =>
    (await hub.call(`${path}/cancel`, { key, body: {} })).body.code
  expect(await cancel(mira.key)).toBe('TOO_LATE')
  for (const { name, key } of others) {
    expect(line).not.toContain(name)
    expect(await cancel(key)).toBe('FORBIDDEN')
  }
})
