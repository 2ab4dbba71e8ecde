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
  expect((await person.send(`${page}/role`, { role: 'admin' })).status).toBe(403)
  expect((await createBrowser(hub).send(`${page}/role`, { role: 'admin' })).status).toBe(401)
  expect((await admin.send(`${page}/role`, { role: 'owner' })).status).toBe(400)
  expect(await roleOf(scout.name)).toBe('member')
  const response = await admin.send(`${page}/role`, { role: 'guest' })
  expect([response.status, response.headers.get('location')]).toEqual([303, page])
  expect(await person.read(page)).toContain('<dt>Role</dt><dd>Guest</dd>')
})

test('T1: the page of a run says on whose behalf it ran, except for a direct message', async () => {
  const page = `/activations/${activationId}`
  const setRequesters = (task: string) =>
    env.DB.prepare(
      `UPDATE activation_traces SET trace = json_set(trace, '$.events[1].task', ?2, '$.events[1].requesters', json('[{"name":"ada","role":"guest"}]'))
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
