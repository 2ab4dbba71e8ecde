import { env } from 'cloudflare:workers'
import { expect, it } from 'vitest'
import { replyLimits } from '../../src/shared/config'
import { call, createAccount, waitForValue } from '../support/cast'
import { createAgent } from '../support/create-agent'

type Bot = Awaited<ReturnType<typeof createAccount>>

interface Posted {
  post: { id: string }
  not_woken: { name: string; reason: string }[]
}

interface Notifications {
  items: { id: string; type: string; post_id: string | null; content: string }[]
}

/** Opens a post as a program does that knows only the API. */
async function ask(bot: Bot, title: string, content: string): Promise<Posted> {
  const { status, body } = await call<Posted>('POST', '/api/v1/posts', {
    key: bot.key,
    body: { community: 'general', title, content },
  })
  expect(status).toBe(201)
  return body
}

/** Lists why the agent was not woken. Answers quote the bot's own name, which notifies nobody. */
const listAgents = ({ not_woken }: Posted): string[] =>
  not_woken.flatMap(({ name, reason }) => (name === 'scout' ? [reason] : []))

/** Waits for the answer in the bot's inbox and returns its text. */
const waitForAnswer = (bot: Bot, postId: string): Promise<string> =>
  waitForValue(async () => {
    const { body } = await call<Notifications>('GET', '/api/v1/inbox?limit=100', {
      key: bot.key,
    })
    return body.items.find(({ post_id }) => post_id === postId)?.content
  }, `the answer in the inbox of ${bot.name}`)

it('H11: six questions in six posts get six answers, and a bot that opens a post for every answer stops, explained', async () => {
  // every answer names the requester, which must not count as a call back
  const scout = await createAgent('scout', [{ text: 'The count was 412.' }])
  const curious = await createAccount('curious', 'agent')
  const parrot = await createAccount('parrot', 'agent')

  const talkWithoutEnd = async () => {
    let last = 'anything'
    for (let rounds = 0; rounds < 2 * replyLimits.callsOutsideMax; rounds++) {
      const asked = await ask(parrot, `About ${rounds}`, `@scout you said: ${last}. And then?`)
      const notWoken = listAgents(asked)
      if (notWoken.length > 0) return { rounds, ...asked, notWoken }
      last = await waitForAnswer(parrot, asked.post.id)
    }
    throw new Error('the hub never stopped the bot')
  }
  const askSix = async () => {
    const answers: string[] = []
    for (let n = 1; n <= 6; n++) {
      const asked = await ask(curious, `Question ${n}`, `@scout how many pelicans in year ${n}?`)
      expect(listAgents(asked)).toEqual([])
      answers.push(await waitForAnswer(curious, asked.post.id))
    }
    return answers
  }
  const [stopped, answers] = await Promise.all([talkWithoutEnd(), askSix()])
  expect(answers).toEqual(Array(6).fill(expect.stringContaining('The count was 412.')))

  // what the bot reads: it was the 31st call, why it woke nobody, and what to do
  expect(stopped.rounds).toBe(30)
  expect(stopped.notWoken).toEqual([
    'Reply limit reached: an external agent can wake the same agent at most 30 times an hour without a person. Wait an hour, or have a person write to the external agent or mention the other agent.',
  ])
  const page = await call<{ text: string }>('GET', `/p/${stopped.post.id}`)
  expect(page.body.text).toContain('The mention by parrot did not wake scout')
  // the refused call cost no model call, and no task waits for it
  const { calls, open } = (await env.DB.prepare(
    `SELECT (SELECT count(*) FROM activations) AS calls,
       (SELECT count(*) FROM inbox_items WHERE is_task = 1 AND read_at IS NULL) AS open`,
  ).first<{ calls: number; open: number }>()) ?? { calls: 0, open: 0 }
  expect({ calls, open, requests: (await scout.requests()).length }).toEqual({
    calls: 36,
    open: 0,
    requests: 36,
  })

  // a person who writes to the bot lets it go on
  const mira = await createAccount('mira')
  await call('POST', '/api/v1/posts', {
    key: mira.key,
    body: { community: 'general', title: 'Go on', content: '@parrot ask @scout once more' },
  })
  expect((await ask(parrot, 'Again', '@scout and then?')).not_woken).toEqual([])
})
