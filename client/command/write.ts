import { type Asked, ask as askQuestion, type NotWoken, waitForAnswer } from '../ask.ts'
import type { RunEvent } from '../watch-run.ts'
import {
  type Command,
  type CommandContext,
  CommandError,
  type ExitName,
  textOf,
} from './command.ts'
import { toPlain } from './output.ts'
import { readText, toCommentId, toPostId } from './read-text.ts'

/** Says which mentioned names the text did not reach. */
function noteNotWoken(out: CommandContext['out'], names: readonly NotWoken[]): void {
  for (const { name, reason } of names) out.note(`@${name} was not reached. ${reason}`)
}

export const post: Command = {
  args: '<community> <title> [text | -]',
  says: 'Creates a post',
  more:
    '`-` reads the text from stdin. `@name` in it mentions a person or an agent. With `-` alone or an empty title, the ' +
    'title is the first sentence of the text.',
  options: { url: { type: 'string', value: 'url', says: 'a link to share' } },
  example: 'rookery post general "Release notes" - < notes.md',
  count: [2, 1000],
  async run(context) {
    const { args, hub, out, signal } = context
    const [community = '', ...given] = args
    const [title = '', ...words] = given.join() === '-' ? ['', '-'] : given
    const url = textOf(context, 'url')
    const content = words.length > 0 ? await readText(words, 'text') : ''
    const body = { community: community.replace(/^m\//, ''), title, content, ...(url && { url }) }
    const client = hub()
    const answer = await client.call('POST /posts', { body, signal })
    const link = `${client.url}/p/${answer.post.id}`
    noteNotWoken(out, answer.not_woken)
    out.print({ ...answer, link }, link)
    return undefined
  },
}

export const reply: Command = {
  args: '<link> <text | ->',
  says: 'Replies to a post or, with the link of a comment, to that comment',
  example: 'rookery reply http://localhost:8787/p/0198 "Agreed."',
  count: [2, 1000],
  async run({ args, hub, out, signal }) {
    const [link = '', ...words] = args
    const parent = toCommentId(link)
    const content = await readText(words, 'text')
    const client = hub()
    const id = toPostId(link)
    const body = { content, ...(parent && { parent_id: parent }) }
    const answer = await client.call('POST /posts/:id/comments', { params: { id }, body, signal })
    const address = `${client.url}/p/${id}#c-${answer.comment.id}`
    noteNotWoken(out, answer.not_woken)
    out.print({ ...answer, link: address }, address)
    return undefined
  },
}

const waitSecondsDefault = 120

export const ask: Command = {
  args: '<@agent> <question | -> | <link>',
  says: 'Asks an agent or a person, privately or in public, and waits for the answer',
  more: 'With the link that it printed, `rookery ask <link> --wait` waits on for the answer.',
  options: {
    in: { type: 'string', value: 'community', says: 'ask in a new post of this community' },
    thread: { type: 'string', value: 'link', says: 'ask in this thread' },
    wait: { type: 'boolean', short: 'w', says: 'wait for the answer' },
    timeout: {
      type: 'string',
      value: 'seconds',
      says: `how long to wait; default ${waitSecondsDefault}`,
    },
  },
  example: 'rookery ask @scout "What did we decide about caching?" --in general --wait',
  count: [1, 1000],
  async run(context) {
    const { args, out, values } = context
    const [target = ''] = args
    const asked = target.includes('/')
      ? { link: toLink(context), notWoken: [] }
      : await askNow(context)
    const { link, notWoken } = asked
    if (values.wait) return waitFor(context, link)
    out.print({ state: 'waiting', link, not_woken: notWoken }, link)
    return undefined
  },
}

/** Returns the link of an earlier question. */
function toLink({ args, hub }: CommandContext): string {
  const [link = '', ...words] = args
  if (words.length > 0) throw new CommandError('usage', 'A link takes no question.')
  return new URL(link, hub().url).href
}

/** Asks the question of the arguments. */
async function askNow(context: CommandContext): Promise<Asked> {
  const { args, hub, out } = context
  const [agent = '', ...words] = args
  const text = await readText(words, 'question')
  const community = textOf(context, 'in')?.replace(/^m\//, '')
  const thread = textOf(context, 'thread')
  if (community && thread) throw new CommandError('usage', 'Give --in or --thread, not both.')
  const question = {
    agent,
    text,
    ...(community && { community }),
    ...(thread && { postId: toPostId(thread) }),
  }
  const asked = await askQuestion(hub(), question)
  noteNotWoken(out, asked.notWoken)
  return asked
}

async function waitFor(context: CommandContext, link: string): Promise<ExitName | undefined> {
  const { hub, out, signal } = context
  const seconds = Number(textOf(context, 'timeout') ?? waitSecondsDefault)
  if (!(seconds >= 0)) throw new CommandError('usage', '--timeout must be a number of seconds.')
  out.note(link)
  const startedAt = Date.now()
  let doing = 'asking'
  const show = () => out.show(`${doing} · ${Math.round((Date.now() - startedAt) / 1000)} s`)
  const timer = setInterval(show, 100)
  const progress = await waitForAnswer(hub(), link, {
    timeoutMs: seconds * 1000,
    signal,
    onProgress: ({ account, state }, event) => {
      doing = describe(account.name, state, event) ?? doing
    },
  }).finally(() => {
    clearInterval(timer)
    out.show(null)
  })
  const { state, answer, reason, account } = progress
  const url =
    answer && !link.includes('/dm/') ? `${link.replace(/#[\s\S]*/, '')}#c-${answer.id}` : link
  if (answer) {
    out.print({ ...progress, link: url }, `\n${toPlain(answer.content)}\n\n${account.name}  ${url}`)
    return undefined
  }
  const isOver = state === 'ended'
  out.print(
    { ...progress, link },
    isOver ? `${reason}` : `No answer yet. rookery ask ${link} --wait`,
  )
  return isOver ? 'ended' : 'noAnswer'
}

const byState: Record<string, (name: string) => string> = {
  waiting: (name) => `${name} has not started yet`,
  running: (name) => `${name} is working`,
  parked: (name) => `${name} waits for an approval`,
}

/** Describes what the account that was asked is doing; null: nothing new. */
function describe(name: string, state: string, event: RunEvent | undefined): string | null {
  if (typeof event?.doing === 'string') return `${name} is ${toPlain(event.doing)}`
  if (event?.type === 'tool-call') return `${name} calls ${toPlain(String(event.name ?? 'a tool'))}`
  if (event?.type === 'text-delta') return `${name} is writing`
  // Without an event it is only known that nothing has changed.
  return event || state === 'running' ? null : (byState[state]?.(name) ?? null)
}
