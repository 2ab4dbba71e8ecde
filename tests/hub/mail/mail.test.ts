import { env } from 'cloudflare:workers'
import { beforeEach, describe, expect, test } from 'vitest'
import { mailLimits } from '../../../src/shared/config'
import { countMailConnections, findLinks, readMail } from '../../support/read-mail'
import { createBrowser, form, signIn } from '../../web/open-pages'
import { adminKey, createTestHub } from '../create-test-hub'
import { createMailHub, newAddress, settingsPath } from './mail-hub'

const {
  hub,
  newPerson,
  readLast,
  confirm,
  newReader,
  mention,
  runSweep,
  readOutbox,
  readAddress,
  readChoices,
} = createMailHub()
const hourMs = 3_600_000

beforeEach(async () => {
  for (const table of ['outbox', 'mail_addresses', 'mail_server', 'notification_settings']) {
    await env.DB.prepare(`DELETE FROM ${table}`).run()
  }
})

describe('O4: an address', () => {
  test('is used once its link was opened, and the link works once', async () => {
    const person = await newPerson()
    expect(await person.browser.read('/settings/notifications')).toContain('id="mail"')
    await person.browser.send(settingsPath, { address: person.address })
    const { headers, text, html } = await readLast(person.address)
    expect(headers.subject).toBe('Confirm your address for Rookery')
    expect(headers['list-unsubscribe']).toBeUndefined()
    const [link = ''] = findLinks(text, '/mail/confirm')
    expect(html).toContain(link.replaceAll('&', '&amp;'))
    expect(text).toContain(`@${person.name}`)
    // A program that scans mail opens links.
    expect((await hub.fetch(link)).status).toBe(200)
    expect(await readAddress(person)).toMatchObject({ confirmed_at: null })
    expect((await hub.fetch(`${link}x`, form({}))).status).toBe(404)
    expect((await hub.fetch(link, form({}))).status).toBe(200)
    expect(await readAddress(person)).toMatchObject({ confirmed_at: hub.clock.now() })
    expect((await hub.fetch(link, form({}))).status).toBe(404)
    const token = new URLSearchParams(link.split('?')[1]).get('token') ?? ''
    const stored = JSON.stringify([
      await readAddress(person),
      await readOutbox('mail.confirmation'),
    ])
    expect(stored).not.toContain(token)
  })

  test('expires unconfirmed after a day', async () => {
    const person = await newPerson()
    await person.browser.send(settingsPath, { address: person.address })
    const [link = ''] = findLinks((await readLast(person.address)).text, '/mail/confirm')
    hub.clock.advance(mailLimits.confirmMs)
    expect((await hub.fetch(link, form({}))).status).toBe(404)
  })

  test('belongs to one account', async () => {
    const [first, second] = [await newPerson(), await newPerson()]
    await confirm(first)
    await second.browser.send(settingsPath, { address: first.address.toUpperCase() })
    // The tests' server keeps the case of an address.
    const shouted = `${first.address.split('@')[0]?.toUpperCase()}@mail.test`
    const [link = ''] = findLinks((await readLast(shouted)).text, '/mail/confirm')
    const refused = await hub.fetch(link, form({}))
    expect(refused.status).toBe(409)
    expect(await readAddress(second)).toMatchObject({ confirmed_at: null })
  })

  test('needs a browser session, and takes a few messages a day', async () => {
    const person = await newPerson()
    const init = form({ address: person.address })
    const headers = { ...init.headers, authorization: `Bearer ${person.key}` }
    expect((await hub.fetch(settingsPath, { ...init, headers })).status).not.toBe(303)
    for (let sent = 0; sent < mailLimits.confirmationsPerDayMax; sent++) {
      expect((await person.browser.send(settingsPath, { address: newAddress() })).status).toBe(303)
    }
    const address = newAddress()
    expect((await person.browser.send(settingsPath, { address })).status).toBe(429)
    expect(await readMail(address)).toEqual([])
  })

  test('counts a message that waits or is on its way when the address is replaced or deleted', async () => {
    const person = await newPerson()
    await env.DB.prepare('INSERT INTO mail_server (id, retry_at) VALUES (1, ?)')
      .bind(hub.clock.now() + hourMs)
      .run()
    const enter = async () =>
      (await person.browser.send(settingsPath, { address: newAddress() })).status
    for (let sent = 1; sent < mailLimits.confirmationsPerDayMax; sent++) {
      expect(await enter()).toBe(303)
    }
    await person.browser.send(`${settingsPath}/delete`, {})
    expect([await enter(), await enter()]).toEqual([303, 429])
    const states = (await readOutbox('mail.confirmation')).map(({ state }) => state)
    expect(states.filter((state) => state === 'pending')).toHaveLength(1)
  })

  test.each([
    'ana@mail.test\r\nBcc: evil@mail.test',
    'ana@mail.test, evil@mail.test',
    '"ana evil"@mail.test',
    'Ana <ana@mail.test>',
    'ana@mail.test\u2028Bcc: evil@mail.test',
    'ana@127.0.0.1',
    'ana@[127.0.0.1]',
    'ana@localhost',
    'ana@mail.test/evil',
    'ana@x@mail.test',
    '@mail.test',
    'ana@',
    'änä@mail.test',
    `${'a'.repeat(65)}@mail.test`,
    `ana@${'a'.repeat(250)}.test`,
  ])('is refused as %j', async (address) => {
    const person = await newPerson()
    expect((await person.browser.send(settingsPath, { address })).status).toBe(400)
    expect(await readAddress(person)).toBeNull()
  })

  test('has its domain in ASCII', async () => {
    const person = await newPerson()
    await person.browser.send(settingsPath, { address: 'Ana@Bücher.test' })
    expect(await readAddress(person)).toMatchObject({
      address: 'Ana@xn--bcher-kva.test',
      normalized: 'ana@xn--bcher-kva.test',
    })
  })

  test('is deleted with its account', async () => {
    const person = await newReader({ mention: ['mail'] })
    const path = `/accounts/${person.name}?words=keep`
    expect((await hub.call(path, { method: 'DELETE', key: adminKey })).status).toBe(200)
    expect(await readAddress(person)).toBeNull()
    expect(await readOutbox('mail.confirmation')).toEqual([])
  })
})

describe('O4: notifications by mail', () => {
  test('are sent for what was chosen, and say who and where', async () => {
    const [by, reader] = [await newPerson(), await newReader({ mention: ['mail'] })]
    const postId = await mention(by, reader, 'Grüße\n\n<b>bold</b> & more')
    const { headers, text, html, count } = await readLast(reader.address)
    expect(count).toBe(2)
    expect(headers.subject).toBe(`@${by.name} mentioned you on Rookery`)
    expect(text).toContain('Grüße')
    expect(text).toContain(`http://hub.test/p/${postId}`)
    expect(html).toContain('&lt;b&gt;bold&lt;/b&gt; &amp; more')
    expect(html).not.toMatch(/<(img|script|style|link)/)
    // Nothing else was chosen.
    const dm = await by.browser.send('/dm', { to: reader.name, content: 'Hello' })
    expect(dm.status).toBe(303)
    expect((await readLast(reader.address)).count).toBe(2)
  })

  test('hold no character that turns around how the text beside it reads', async () => {
    const [by, reader] = [await newPerson(), await newReader({ mention: ['mail'] })]
    const turning = '\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069'
    await mention(by, reader, `pay ${turning}moc.live ${turning}or שלום`)
    const { headers, text, html } = await readLast(reader.address)
    for (const part of [...Object.values(headers), text, html]) {
      expect(part).not.toMatch(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/)
    }
    expect(text).toContain('pay moc.live or שלום')
    expect(html).toContain('<blockquote dir="auto">')
  })

  test('stop with one click, without a session, for their kind alone', async () => {
    const [by, reader] = [
      await newPerson(),
      await newReader({ mention: ['mail'], dm: ['mail'], run: ['digest'] }),
    ]
    await mention(by, reader)
    const { headers } = await readLast(reader.address)
    const link = headers['list-unsubscribe']?.slice(1, -1).replace('http://hub.test', '') ?? ''
    expect(headers['list-unsubscribe-post']).toBe('List-Unsubscribe=One-Click')
    const page = await hub.fetch(link)
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<button')])
    const { mention: mentions, ...left } = await readChoices(reader)
    expect(mentions).toEqual(['mail'])
    // As mail programs send it: another origin, no cookie (RFC 8058, section 3.2).
    const oneClick = await hub.fetch(link, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'List-Unsubscribe=One-Click',
    })
    expect(oneClick.status).toBe(200)
    expect(await readChoices(reader)).toEqual(left)
    expect(left).toEqual({ dm: ['mail'], run: ['digest'] })
    await mention(by, reader)
    expect((await readLast(reader.address)).count).toBe(2)
    const parts = new FormData()
    parts.set('List-Unsubscribe', 'One-Click')
    expect((await hub.fetch(link, { method: 'POST', body: parts })).status).toBe(200)
  })

  test('do not stop by a token that was guessed, or that is for another kind or account', async () => {
    const [by, reader, other] = [
      await newPerson(),
      await newReader({ mention: ['mail'], dm: ['mail'] }),
      await newReader({ mention: ['mail'] }),
    ]
    await mention(by, reader)
    const { headers } = await readLast(reader.address)
    const url = new URL(headers['list-unsubscribe']?.slice(1, -1) ?? '')
    const changed: [string, string][] = [
      ['token', 'A'.repeat(43)],
      ['token', ''],
      ['kind', 'dm'],
      ['kind', 'digest'],
      ['account', other.id],
    ]
    for (const [name, value] of changed) {
      const tried = new URL(url)
      tried.searchParams.set(name, value)
      const answer = await hub.fetch(tried.pathname + tried.search, form({}))
      expect([name, value, answer.status]).toEqual([name, value, 404])
    }
    expect(await readChoices(reader)).toEqual({ mention: ['mail'], dm: ['mail'] })
    expect(await readChoices(other)).toEqual({ mention: ['mail'] })
  })

  test('are withheld when they were read before they could be sent', async () => {
    const [by, reader] = [await newPerson(), await newReader({ mention: ['mail'] }, 'later')]
    await mention(by, reader)
    expect(await readOutbox('mail.notification')).toMatchObject([
      { state: 'pending', attempts: 1, answer: expect.stringContaining('451') },
    ])
    await env.DB.prepare('UPDATE inbox_items SET read_at = 1 WHERE account_id = ?')
      .bind(reader.id)
      .run()
    hub.clock.advance(hourMs)
    await runSweep()
    expect(await readOutbox('mail.notification')).toMatchObject([{ state: 'withheld' }])
  })
})

describe('O4: what a mail server refuses', () => {
  test('stops an address that nobody has at once, and says so', async () => {
    const [by, reader] = [await newPerson(), await newReader({ mention: ['mail'] }, 'nobody')]
    await mention(by, reader)
    expect(await readAddress(reader)).toMatchObject({
      failures: 1,
      stopped_at: hub.clock.now() - 1,
      reason: 'The mail server answered: 550 5.1.1 No such user',
    })
    const { body } = await hub.call('/inbox', { key: reader.key })
    expect(JSON.stringify(body)).toContain(`Mail to ${reader.address} was stopped.`)
    expect(await reader.browser.read('/settings/notifications')).toContain('550 5.1.1 No such user')
    await mention(by, reader)
    expect(await readOutbox('mail.notification')).toHaveLength(1)
  })

  test('stops an address after three messages in a row', async () => {
    const [by, reader] = [await newPerson(), await newReader({ mention: ['mail'] }, 'refused')]
    for (const failures of [1, 2]) {
      await mention(by, reader)
      expect(await readAddress(reader)).toMatchObject({ failures, stopped_at: null })
    }
    await mention(by, reader)
    expect(await readAddress(reader)).toMatchObject({
      failures: 3,
      stopped_at: hub.clock.now() - 1,
    })
  })

  test('a server that fails is left alone for a while, and takes all over one connection then', async () => {
    const [by, reader] = [await newPerson(), await newReader({ mention: ['mail'] })]
    await env.DB.prepare('INSERT OR REPLACE INTO mail_server (id, retry_at) VALUES (1, ?)')
      .bind(hub.clock.now() + hourMs)
      .run()
    const before = await countMailConnections()
    for (let count = 0; count < 5; count++) await mention(by, reader)
    expect(await countMailConnections()).toBe(before)
    expect(await readOutbox('mail.notification')).toHaveLength(5)
    hub.clock.advance(hourMs)
    await runSweep()
    // One connection for all of them.
    expect(await countMailConnections()).toBe(before + 1)
    expect((await readLast(reader.address)).count).toBe(6)
  })

  test('a message that breaks the connection lets the others through', async () => {
    const by = await newPerson()
    const [breaking, reader] = [
      await newReader({ mention: ['mail'] }, 'breaks'),
      await newReader({ mention: ['mail'] }),
    ]
    await mention(by, breaking)
    await mention(by, reader)
    expect((await readMail(reader.address)).length).toBe(1)
    hub.clock.advance(mailLimits.retriesMs[0] * 1.2)
    await runSweep()
    hub.clock.advance(mailLimits.retriesMs[1] * 1.2)
    await runSweep()
    expect((await readLast(reader.address)).count).toBe(2)
    hub.clock.advance(mailLimits.keptTryingMs)
    await runSweep()
    const states = (await readOutbox('mail.notification')).map(({ state }) => state)
    expect(states).toEqual(['failed', 'sent'])
  })
})

describe('O4: signing in by mail', () => {
  const ask = (address: string) => hub.fetch('/login/mail', form({ address, next: '/inbox' }))

  test('sends a link that works once, and answers the same for an unknown address', async () => {
    const person = await newReader({})
    const [known, unknown] = [await ask(person.address), await ask(newAddress())]
    expect([known.status, unknown.status]).toEqual([200, 200])
    const plain = async (response: Response) =>
      (await response.text()).replace(/ana\+\w+@mail\.test/g, 'X').replace(/value="[^"]*"/g, '')
    expect(await plain(known)).toBe(await plain(unknown))
    const { text, headers } = await readLast(person.address)
    expect(headers.subject).toBe('Sign in to Rookery')
    const [link = ''] = findLinks(text, '/login?token=')
    const token = new URLSearchParams(link.split('?')[1]).get('token') ?? ''
    const opened = await hub.fetch(link)
    expect([opened.status, await opened.text()]).toEqual([
      200,
      expect.stringContaining(`Continue as ${person.name}`),
    ])
    const use = () => hub.fetch('/login/link', form({ token, next: '/inbox' }))
    const used = await use()
    expect([used.status, used.headers.get('location')]).toEqual([303, '/inbox'])
    expect((await use()).status).toBe(401)
    expect(JSON.stringify(await readOutbox('mail.sign_in'))).not.toContain(token)
  })

  test('expires after 15 minutes, and is limited by address', async () => {
    const person = await newReader({})
    await ask(person.address)
    const [link = ''] = findLinks((await readLast(person.address)).text, '/login?token=')
    hub.clock.advance(mailLimits.signInMs)
    expect((await hub.fetch(link)).status).toBe(401)
    for (let count = 0; count < 8; count++) expect((await ask(person.address)).status).toBe(200)
    const { count } = await readLast(person.address)
    expect(count).toBe(1 + mailLimits.signInsPerHourMax)
  })

  test('is not for an address that is unconfirmed, or of a banned account', async () => {
    const [unconfirmed, banned] = [await newPerson(), await newReader({})]
    await unconfirmed.browser.send(settingsPath, { address: unconfirmed.address })
    await env.DB.prepare('UPDATE accounts SET disabled_at = 1 WHERE id = ?').bind(banned.id).run()
    for (const { address } of [unconfirmed, banned]) {
      const before = (await readMail(address)).length
      await ask(address)
      expect((await readMail(address)).length).toBe(before)
    }
  })
})

test('O4: an invitation is mailed, and its link is stored nowhere', async () => {
  const admin = await signIn(hub)
  const address = newAddress()
  const sent = await admin.send('/admin/people/invitations', {
    role: 'member',
    expires_in_days: '7',
    note: '',
    address,
  })
  const html = await sent.text()
  expect([sent.status, html]).toEqual([200, expect.stringContaining(`is sent to ${address}`)])
  expect(html).not.toContain('/join/')
  const { text } = await readLast(address)
  const [link = ''] = findLinks(text, '/join/')
  expect((await hub.fetch(link)).status).toBe(200)
  const name = `new-${crypto.randomUUID().slice(0, 6)}`
  const joined = await hub.fetch(link, form({ name, display_name: '' }))
  expect([joined.status, joined.headers.get('location')]).toEqual([303, '/?joined'])
  expect(await readOutbox('mail.invitation')).toMatchObject([{ state: 'sent', data: null }])
})

describe('O4: the digest', () => {
  test('its page says how long it is until the next one', async () => {
    const reader = await newReader({ run: ['digest'] })
    const page = await reader.browser.read('/settings/notifications')
    expect(page).toMatch(/The next digest is due <time [^>]*>in \d+/)
    expect(page).toContain('It replaces the one above at once.')
  })

  test('comes once a day with what is unread, and not at all when nothing is', async () => {
    const [by, reader] = [await newPerson(), await newReader({ mention: ['digest'] })]
    await mention(by, reader, 'first')
    await mention(by, reader, 'second')
    expect((await readLast(reader.address)).count).toBe(1)
    hub.clock.advance(24 * hourMs)
    await runSweep()
    const { count, headers, text } = await readLast(reader.address)
    expect(count).toBe(2)
    expect(headers.subject).toBe('Rookery: 2 for you')
    expect(headers['list-unsubscribe']).toContain('kind=digest')
    expect(text.indexOf('first')).toBeLessThan(text.indexOf('second'))
    hub.clock.advance(24 * hourMs)
    await runSweep()
    expect((await readLast(reader.address)).count).toBe(2)
    expect(await readOutbox('mail.digest')).toHaveLength(1)
  })

  test('says nothing of a community that the reader has left', async () => {
    const [by, reader] = [await newPerson(), await newReader({ mention: ['digest'] })]
    const name = `den-${crypto.randomUUID().slice(0, 6)}`
    const made = await hub.call('/communities', {
      key: adminKey,
      body: { name, visibility: 'private' },
    })
    expect(made.status).toBe(201)
    const communityId = made.body.community.id
    for (const { id } of [by, reader]) {
      await env.DB.prepare(
        "INSERT INTO community_members (community_id, account_id, role, created_at) VALUES (?, ?, 'member', 0)",
      )
        .bind(communityId, id)
        .run()
    }
    await mention(by, reader, 'a secret plan', name)
    await mention(by, reader, 'in the open')
    await env.DB.prepare('DELETE FROM community_members WHERE account_id = ?').bind(reader.id).run()
    hub.clock.advance(24 * hourMs)
    await runSweep()
    const { text } = await readLast(reader.address)
    expect(text).toContain('in the open')
    expect(text).not.toContain('a secret plan')
  })
})

describe('O4: the mail page of admins', () => {
  test('shows the server without its login, what was sent, and sends a test', async () => {
    const admin = await signIn(hub)
    expect(await admin.read('/admin/mail')).toContain('to send yourself a test')
    const address = newAddress()
    await admin.send(settingsPath, { address })
    const tested = await admin.send('/admin/mail/test', {})
    expect(await tested.text()).toContain(`The test was sent to ${address}.`)
    expect((await readLast(address)).headers.subject).toBe('Test of Rookery')
    const html = await admin.read('/admin/mail')
    expect(html).toContain('127.0.0.1')
    expect(html).toContain('Confirmation of an address')
    const member = await newPerson()
    expect((await member.browser.send('/admin/mail/test', {})).status).toBe(403)
  })

  test('lists stopped addresses with the reason', async () => {
    const [by, reader] = [await newPerson(), await newReader({ mention: ['mail'] }, 'nobody')]
    await mention(by, reader)
    const html = await (await signIn(hub)).read('/admin/mail')
    expect(html).toContain('Stopped addresses')
    expect(html).toContain('550 5.1.1 No such user')
  })

  test('says how to set up mail, and nothing else changes without it', async () => {
    const plain = createTestHub()
    const admin = await signIn(plain)
    expect(await admin.read('/admin/mail')).toContain('ROOKERY_MAIL_URL is not set')
    expect(await admin.read('/settings/notifications')).not.toContain('id="mail"')
    expect(await admin.read('/admin/people')).not.toContain('name="address"')
    expect(await createBrowser(plain).read('/login')).not.toContain('/login/mail')
    const address = newAddress()
    expect((await plain.fetch('/login/mail', form({ address, next: '/' }))).status).toBe(503)
    expect((await admin.send(settingsPath, { address })).status).toBe(503)
  })
})
