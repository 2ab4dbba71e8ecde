import { env } from 'cloudflare:workers'
import { describe, expect, test } from 'vitest'
import { signIn } from '../../web/open-pages'
import { createTestHub } from '../create-test-hub'
import { createMailHub } from '../mail/mail-hub'

const { hub, newPerson, confirm } = createMailHub()
const path = '/settings/notifications'

const read = async (key: string) => (await hub.call(path, { key })).body.notifications
const change = (key: string, body: object) => hub.call(path, { key, method: 'PATCH', body })

/** The marked boxes of the page. */
const readMarked = (html: string): string[] =>
  [...html.matchAll(/<input type="checkbox" name="(\w+)"[^>]*>/g)]
    .filter(([box]) => / checked/.test(box))
    .map(([, name]) => name ?? '')

const fields = { quiet_from: '', quiet_to: '', digest_hour: '8', timezone: 'UTC' }

describe('O4: how an account is notified', () => {
  test('is by push alone until it chooses', async () => {
    const { key, browser } = await newPerson()
    const settings = await read(key)
    expect(settings).toMatchObject({
      mention: ['push'],
      reply: ['push'],
      dm: ['push'],
      approval: ['push'],
      run: ['push'],
      post: [],
      quiet_from: null,
      timezone: 'UTC',
      next_digest_at: null,
      mail: { is_sent: true, address: null, confirmed_at: null, stopped_at: null },
    })
    expect(readMarked(await browser.read(path))).toEqual(
      ['mention', 'reply', 'dm', 'approval', 'run'].map((kind) => `${kind}_push`),
    )
  })

  test('is one choice that the page and the API read and change', async () => {
    const { key, browser } = await newPerson()
    const { status, body } = await change(key, {
      mention: ['mail', 'push', 'mail'],
      dm: [],
      run: ['digest'],
      post: ['digest'],
      quiet_from: '22:00',
      quiet_to: '07:30',
      timezone: 'Europe/Berlin',
      digest_hour: 7,
    })
    expect([status, body.notifications]).toMatchObject([200, { mention: ['push', 'mail'] }])
    expect(body.notifications).toEqual(await read(key))
    expect(body.notifications.next_digest_at).toMatch(/T0[56]:00:00/)
    const html = await browser.read(path)
    const marked = readMarked(html)
    expect(marked).toEqual([
      'mention_push',
      'mention_mail',
      'reply_push',
      'approval_push',
      'run_digest',
      'post_digest',
    ])
    expect(html).toContain('value="22:00"')
    const sent = await browser.send(path, {
      ...Object.fromEntries(marked.map((name) => [name, 'on'])),
      dm_digest: 'on',
      quiet_from: '22:00',
      quiet_to: '07:30',
      timezone: 'Europe/Berlin',
      digest_hour: '7',
    })
    expect(sent.status).toBe(303)
    expect(await read(key)).toEqual({ ...body.notifications, dm: ['digest'] })
  })

  test('keeps what a change leaves out, also when two come at once', async () => {
    const { key } = await newPerson()
    await Promise.all([change(key, { mention: ['mail'] }), change(key, { dm: ['digest'] })])
    await change(key, { timezone: 'Asia/Tokyo' })
    expect(await read(key)).toMatchObject({
      mention: ['mail'],
      dm: ['digest'],
      reply: ['push'],
      timezone: 'Asia/Tokyo',
      next_digest_at: expect.stringContaining('T23:00:00'),
    })
  })

  test.each([
    [{ mention: ['pigeon'] }, 'body.mention.0'],
    [{ mention: 'push' }, 'body.mention'],
    [{ mention: ['push', 'push', 'push', 'push'] }, 'body.mention'],
    [{ post: ['push'] }, 'body.post.0'],
    [{ votes: ['push'] }, 'body.votes'],
    [{ quiet_from: '22:00' }, 'body.quiet_to'],
    [{ quiet_from: '22:00', quiet_to: null }, 'body.quiet_to'],
    [{ digest_hour: 24 }, 'body.digest_hour'],
    [{ timezone: 'Mars/Base' }, 'body.timezone'],
  ])('is not changed by %j', async (body, at) => {
    const { key } = await newPerson()
    const refused = await change(key, body)
    expect([refused.status, refused.body.details?.[0]?.path]).toEqual([400, at])
    expect(await read(key)).toMatchObject({ mention: ['push'], quiet_from: null })
  })

  test('has what is known of its mail address', async () => {
    const person = await newPerson()
    await person.browser.send(`${path}/mail`, { address: person.address })
    expect((await read(person.key)).mail).toMatchObject({
      address: person.address,
      confirmed_at: null,
    })
    await confirm(person)
    await env.DB.prepare(
      'UPDATE mail_addresses SET stopped_at = ?, reason = ? WHERE account_id = ?',
    )
      .bind(hub.clock.now(), 'It bounced.', person.id)
      .run()
    const { mail } = await read(person.key)
    const at = new Date(hub.clock.now()).toISOString()
    expect(mail).toMatchObject({ confirmed_at: at, stopped_at: at, stopped_reason: 'It bounced.' })
  })

  test('says on its page why a choice reaches nobody', async () => {
    const { key, browser, address } = await newPerson()
    await change(key, { mention: ['mail'] })
    expect(await browser.read(path)).toContain('no mail address was entered yet')
    await browser.send(`${path}/mail`, { address })
    expect(await browser.read(path)).toContain(`${address} is not confirmed yet`)
    const none = { mention: [], reply: [], dm: [], approval: [], run: [] }
    await change(key, none)
    expect(await browser.read(path)).toContain('Nothing is chosen to be notified of.')
  })

  test('keeps its mail through the form of a hub that sends none, which does not show it', async () => {
    const plain = createTestHub()
    const { key } = await plain.join('olga', 'human')
    const browser = await signIn(plain, key)
    const body = { mention: ['push', 'mail'], dm: ['digest'], post: ['digest'] }
    await plain.call(path, { key, method: 'PATCH', body })
    const html = await browser.read(path)
    expect(readMarked(html)).not.toContain('mention_mail')
    expect(html).not.toContain('Digest')
    const hidden = [...html.matchAll(/<input type="hidden" name="(\w+_\w+)" value="([^"]*)"/g)]
    const kept = Object.fromEntries(hidden.map(([, name, value]) => [name, value ?? '']))
    expect((await browser.send(path, { ...fields, ...kept, mention_push: 'on' })).status).toBe(303)
    const { notifications } = (await plain.call(path, { key })).body
    expect(notifications).toMatchObject({ ...body, mail: { is_sent: false, address: null } })
  })
})
