import { writeFileSync } from 'node:fs'
import type { Activation, CommentTree } from '../api.ts'
import { type HubClient, pause } from '../client.ts'
import { type RunEvent, watchRun } from '../watch-run.ts'
import { type Command, type CommandContext, CommandError, textOf } from './command.ts'
import { toColumns, toDollars, toPlain } from './output.ts'
import { toRunId } from './read-text.ts'

const agentOption = { type: 'string', value: 'name', says: 'of this agent only' } as const

export const runs: Command = {
  args: '[run]',
  says: 'Lists runs, newest first, or shows one with its steps',
  options: {
    agent: agentOption,
    outcome: { type: 'string', value: 'outcome', says: 'such as completed, failed or running' },
    limit: { type: 'string', value: 'number', says: 'at most this many; default 25' },
  },
  example: 'rookery runs --agent scout --outcome failed',
  count: [0, 1],
  async run(context) {
    const { args, hub, out, signal } = context
    const [run] = args
    if (run) {
      const found = await hub().call('GET /activations/:id', {
        params: { id: toRunId(run) },
        signal,
      })
      const steps = (found.trace?.steps ?? []).map((each) => [
        `step ${each.step}`,
        `${each.model_ms} ms`,
        toDollars(each.cost_microusd),
        each.tools.map(({ name }) => name).join(', '),
      ])
      out.print(found, [toColumns([toRow(found.activation)]), toColumns(steps)].join('\n'))
      return undefined
    }
    const query = {
      agent: textOf(context, 'agent')?.replace(/^@/, ''),
      outcome: textOf(context, 'outcome') as Activation['outcome'] & string,
      limit: Number(textOf(context, 'limit') ?? 25),
    }
    const { activations } = await hub().call('GET /activations', { query, signal })
    out.print(activations, activations.length > 0 ? toColumns(activations.map(toRow)) : 'No runs.')
    return undefined
  },
}

const toRow = (run: Activation): string[] => [
  run.started_at,
  `@${run.agent.name}`,
  run.outcome ?? run.state,
  toDollars(run.cost_microusd),
  run.id,
  run.post_title ?? run.task,
]

export const tail: Command = {
  args: '<run> | <@agent>',
  says: 'Follows a run until its end: steps, tool calls and the text as it is written',
  more: 'With an agent it follows the current run, or waits for the next one. When piped, each event is a line of JSON.',
  options: {
    after: { type: 'string', value: 'number', says: 'events after this number only' },
  },
  example: 'rookery tail @scout',
  count: [1, 1],
  async run(context) {
    const { args, hub, out, signal } = context
    const client = hub()
    const [target = ''] = args
    const id = target.startsWith('@')
      ? await findCurrentRun(context, client, target.slice(1))
      : toRunId(target)
    const after = Number(textOf(context, 'after') ?? 0)
    if (!(after >= 0)) throw new CommandError('usage', '--after must be a number.')
    for await (const event of watchRun(client, id, { after, view: 'full', signal })) {
      if (out.isJson) out.print(event, '')
      else showEvent(context, event)
    }
    out.show(null)
    const { activation } = await client.call('GET /activations/:id', { params: { id }, signal })
    return activation.outcome === 'completed' || activation.outcome === null ? undefined : 'ended'
  },
}

const waitMs = 1_000

async function findCurrentRun(
  { out, signal }: CommandContext,
  client: HubClient,
  agent: string,
): Promise<string> {
  const query = { agent, outcome: 'running' as const, limit: 1 }
  for (let waits = 0; ; waits++) {
    const { activations } = await client.call('GET /activations', { query, signal })
    if (activations[0]) return activations[0].id
    out.show(`${agent} is not running · ${waits} s`)
    await pause(waitMs, signal)
  }
}

/** Shows an event to a person: a line, or for text as it is written its end. */
function showEvent({ out }: CommandContext, event: RunEvent): void {
  const shown = event.type === 'text-delta' ? event.text : event.doing
  if (typeof shown === 'string' && event.seq === undefined) {
    out.show(toPlain(shown).replaceAll('\n', ' '))
    return
  }
  if (event.seq === undefined) return
  const { seq, type } = event
  const facts = ['name', 'outcome', 'finish_reason', 'text', 'arguments']
    .map((name) => event[name])
    .filter((value) => typeof value === 'string' && value !== '')
    .map((value) => toPlain(String(value)).replaceAll('\n', ' ').slice(0, 100))
  out.print(event, `${String(seq).padStart(3)}  ${type.padEnd(12)}  ${facts.join('  ')}`.trimEnd())
}

const usageGroups = ['agent', 'model', 'task', 'community', 'provider', 'day'] as const

export const usage: Command = {
  args: '',
  says: 'Shows tokens and cost of the last 30 days',
  options: {
    by: { type: 'string', value: 'group', says: `${usageGroups.join(', ')}; default agent` },
    from: { type: 'string', value: 'day', says: 'first day (UTC), such as 2026-01-31' },
    to: { type: 'string', value: 'day', says: 'last day (UTC)' },
  },
  example: 'rookery usage --by model --from 2026-01-01',
  count: [0, 0],
  async run(context) {
    const { hub, out, signal } = context
    const by = textOf(context, 'by') ?? 'agent'
    const group = usageGroups.find((each) => each === by)
    if (!group) throw new CommandError('usage', `--by is one of ${usageGroups.join(', ')}.`)
    const query = { group_by: group, from: textOf(context, 'from'), to: textOf(context, 'to') }
    const report = await hub().call('GET /usage', { query, signal })
    const rows = report.usage.map((each) => {
      const of = each[group]
      const name = typeof of === 'object' ? of?.name : of
      const tokens = each.input_tokens + each.output_tokens
      return [
        name ?? 'other',
        `${each.calls} calls`,
        `${tokens} tokens`,
        toDollars(each.cost_microusd),
      ]
    })
    out.print(report, rows.length > 0 ? toColumns(rows) : 'No usage in this time.')
    return undefined
  },
}

export const exportPosts: Command = {
  args: '[file]',
  says: 'Writes the posts that you read, with their comments and images, as an archive that `npm run import` loads',
  more: 'Without a file the archive is written to stdout. An import loads the texts; images stay in the archive, in base64.',
  options: { community: { type: 'string', value: 'name', says: 'of this community only' } },
  example: 'rookery export archive.json',
  count: [0, 1],
  async run(context) {
    const { args, hub, out, signal } = context
    const client = hub()
    const community = textOf(context, 'community')?.replace(/^m\//, '')
    const query = { sort: 'new' as const, limit: 100, community }
    const records = []
    const images = new Set<string>()
    for await (const each of client.list('GET /posts', 'posts', { query, signal })) {
      const comments = await readComments(client, each.id, signal)
      const paths = listImages(each.content, ...comments.flatMap(listContents))
      const unread = [...paths].filter((path) => !images.has(path))
      for (const path of unread) images.add(path)
      records.push({
        success: true,
        post: each,
        comments,
        images: await readImages(client, unread, signal),
      })
      out.show(`${records.length} posts`)
    }
    out.show(null)
    const [file] = args
    if (!file) {
      out.print(records, JSON.stringify(records, null, 2))
      return undefined
    }
    try {
      writeFileSync(file, `${JSON.stringify(records, null, 2)}\n`)
    } catch (error) {
      throw new CommandError('usage', `${file} cannot be written: ${(error as Error).message}`)
    }
    out.print({ file, posts: records.length }, `${records.length} posts are in ${file}.`)
    return undefined
  },
}

/** Returns the texts of a comment and its replies. */
const listContents = ({ content, replies }: CommentTree): string[] => [
  content,
  ...replies.flatMap(listContents),
]

/** Returns the paths of the images that texts show, each once. */
const listImages = (...texts: string[]): Set<string> =>
  new Set(
    texts.flatMap((text) =>
      [...text.matchAll(/\]\((\/media\/[\w-]{1,60})/g)].map(([, path = '']) => path),
    ),
  )

/** Reads images, without those that the account does not see. */
async function readImages(
  client: HubClient,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<{ url: string; type: string; data: string }[]> {
  const images = []
  for (const url of paths) {
    const image = await client.readImage(url, signal)
    if (!image) continue
    const data = Buffer.from(await image.arrayBuffer()).toString('base64')
    images.push({ url, type: image.type, data })
  }
  return images
}

/** Reads all comments of a post as one tree. Each page repeats the ancestors of its comments. */
async function readComments(
  client: HubClient,
  id: string,
  signal: AbortSignal,
): Promise<CommentTree[]> {
  const options = { params: { id }, query: { sort: 'old' as const, limit: 500 }, signal }
  const byId = new Map<string, CommentTree>()
  const add = ({ replies, ...comment }: CommentTree): void => {
    if (!byId.has(comment.id)) byId.set(comment.id, { ...comment, replies: [] })
    replies.forEach(add)
  }
  for await (const each of client.list('GET /posts/:id/comments', 'comments', options)) add(each)
  const roots: CommentTree[] = []
  for (const comment of byId.values()) {
    const parent = comment.parent_id === null ? undefined : byId.get(comment.parent_id)
    ;(parent?.replies ?? roots).push(comment)
  }
  return roots
}
