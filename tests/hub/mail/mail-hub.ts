import { env } from 'cloudflare:workers'
import { expect } from 'vitest'
import { sweep } from '../../../src/hub/api/sweep'
import { findLinks, mailSettings, parseMail, readMail } from '../../support/read-mail'
import { type Browser, form, signIn } from '../../web/open-pages'
import { createTestHub } from '../create-test-hub'

export const settingsPath = '/settings/notifications/mail'

/** An address at the tests' mail server. @param how it behaves, see `mail-worker.ts` */
export const newAddress = (how = 'ana') => `${how}+${crypto.randomUUID().slice(0, 8)}@mail.test`

export interface Person {
  id: string
  key: string
  name: string
  browser: Browser
  address: string
}

/** Channels by kind of notification; no other kind has one. */
export type Choices = Partial<Record<string, readonly string[]>>

/** Creates a hub that sends mail to the tests' server, with what tests do there. */
/** @param given settings in place of those of the tests' server */
export function createMailHub(given: Record<string, string> = {}) {
  const hub = createTestHub({ ...mailSettings, ...given })
  const newPerson = async (how?: string): Promise<Person> => {
    const person = await hub.join(`mira-${crypto.randomUUID().slice(0, 6)}`, 'human')
    await env.DB.prepare("UPDATE accounts SET role = 'member' WHERE id = ?").bind(person.id).run()
    return { ...person, browser: await signIn(hub, person.key), address: newAddress(how) }
  }

  const readLast = async (address: string) => {
    const mails = await readMail(address)
    const last = mails.at(-1)
    if (!last) throw new Error(`Nothing was sent to ${address}.`)
    return { count: mails.length, ...parseMail(last) }
  }

  /** Enters the address of a person and opens its link. */
  const confirm = async ({ browser, address }: Person) => {
    expect((await browser.send(settingsPath, { address })).status).toBe(303)
    const [link = ''] = findLinks((await readLast(address)).text, '/mail/confirm')
    expect((await hub.fetch(link)).status).toBe(200)
    expect((await hub.fetch(link, form({}))).status).toBe(200)
  }

  /** Chooses channels by kind; no kind has another one. */
  const choose = async ({ key }: Pick<Person, 'key'>, choices: Choices) => {
    const none = { mention: [], reply: [], dm: [], approval: [], run: [], post: [] }
    const { status } = await hub.call('/settings/notifications', {
      key,
      method: 'PATCH',
      body: { ...none, ...choices },
    })
    expect(status).toBe(200)
    // A digest begins after what was chosen.
    hub.clock.advance(1)
  }

  const newReader = async (choices: Choices, how?: string) => {
    const person = await newPerson()
    await confirm(person)
    await choose(person, choices)
    if (how === undefined) return person
    const address = newAddress(how)
    await env.DB.prepare(
      'UPDATE mail_addresses SET address = ?, normalized = ? WHERE account_id = ?',
    )
      .bind(address, address, person.id)
      .run()
    return { ...person, address }
  }

  /** Gives a new person a confirmed address without any mail. */
  const newConfirmed = async (choices: Choices) => {
    const person = await newPerson()
    await env.DB.prepare(
      `INSERT INTO mail_addresses (account_id, address, normalized, created_at, confirmed_at, token_hash)
       VALUES (?1, ?2, ?2, ?3, ?3, '')`,
    )
      .bind(person.id, person.address, hub.clock.now())
      .run()
    await choose(person, choices)
    return person
  }

  const mention = async (
    by: Person,
    to: Person,
    content = 'Look at this',
    community = 'general',
  ) => {
    const { status, body } = await hub.call('/posts', {
      key: by.key,
      body: { community, title: 'A title', content: `@${to.name} ${content}` },
    })
    expect(status).toBe(201)
    hub.clock.advance(1)
    return body.post.id as string
  }

  /** Runs the sweep with what it does in the background. */
  const runSweep = async (own = hub.context()) => {
    const work: Promise<unknown>[] = []
    const context = { ...own, defer: (each: Promise<unknown>) => void work.push(each) }
    const answer = await sweep(context, hub.clock.now())
    await Promise.all(work)
    return answer
  }

  const readOutbox = async (event: string) =>
    (
      await env.DB.prepare(
        'SELECT state, attempts, answer, next_at, data FROM outbox WHERE event = ? ORDER BY seq',
      )
        .bind(event)
        .all<{ state: string; attempts: number; answer: string; next_at: number; data: string }>()
    ).results

  const readAddress = async ({ id }: Person) =>
    env.DB.prepare('SELECT * FROM mail_addresses WHERE account_id = ?')
      .bind(id)
      .first<Record<string, string | number | null>>()

  /** The channels that a person has chosen, without the kinds that have none. */
  const readChoices = async ({ key }: Pick<Person, 'key'>) => {
    const { body } = await hub.call('/settings/notifications', { key })
    const kinds = ['mention', 'reply', 'dm', 'approval', 'run', 'post']
    return Object.fromEntries(
      Object.entries(body.notifications).filter(
        ([name, chosen]) => kinds.includes(name) && (chosen as string[]).length > 0,
      ),
    )
  }

  return {
    hub,
    newPerson,
    readLast,
    confirm,
    choose,
    newReader,
    newConfirmed,
    mention,
    runSweep,
    readOutbox,
    readAddress,
    readChoices,
  }
}
