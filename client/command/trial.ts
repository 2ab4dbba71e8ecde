import { writeFileSync } from 'node:fs'
import type { Trial } from '../api.ts'
import { type HubClient, pause } from '../client.ts'
import { HubError } from '../errors.ts'
import {
  type Command,
  type CommandContext,
  CommandError,
  type ExitName,
  textOf,
} from './command.ts'
import { readDefinition } from './definition-folder.ts'
import { toJunit } from './junit.ts'
import { toColumns, toDollars, toPlain } from './output.ts'

const pollMs = 2_000

export const trial: Command = {
  args: '--set <id | agent/name> --definition <folder>',
  says: 'Tries a changed definition on a set of recorded runs, and waits for what comes of it',
  more: 'It exits with 0 when every case ran and no more of them are worse than allowed. Ctrl-C cancels the trial. Nothing is posted or saved.',
  options: {
    set: { type: 'string', value: 'set', says: 'id of the set, or its agent and name' },
    definition: { type: 'string', value: 'folder', says: 'the changed definition' },
    repeats: { type: 'string', value: 'count', says: 'how often each case runs; default 1' },
    'worse-max': { type: 'string', value: 'count', says: 'cases that may be worse; default 0' },
    junit: { type: 'string', value: 'file', says: 'also write a report in the XML of JUnit' },
  },
  example: 'rookery trial --set scout/launch --definition agents/scout --junit trial.xml',
  count: [0, 0],
  async run(context) {
    const options = readOptions(context)
    const files = readDefinition(options.definition)
    const client = context.hub()
    const ended = await runTrial(context, client, options, files).catch((error: unknown) => {
      throw toNotRun(error)
    })
    if (options.junit !== undefined) writeReport(options.junit, ended)
    const link = `${client.url}/trials/${ended.id}`
    context.out.print({ ...ended, link }, formatTrial(ended, link))
    return findTrialExit(ended, options.worseMax)
  },
}

type TrialOptions = ReturnType<typeof readOptions>

function readOptions(context: CommandContext) {
  const need = (name: string): string => {
    const value = textOf(context, name)
    if (value) return value
    throw new CommandError('usage', `--${name} is missing.`, 'See `rookery trial --help`.')
  }
  const count = (name: string, least: number): number | undefined => {
    const text = textOf(context, name)
    if (text === undefined) return undefined
    if (/^\d+$/.test(text) && Number(text) >= least) return Number(text)
    throw new CommandError('usage', `--${name} must be a number of at least ${least}.`)
  }
  return {
    set: need('set'),
    definition: need('definition'),
    repeats: count('repeats', 1),
    worseMax: count('worse-max', 0) ?? 0,
    junit: textOf(context, 'junit'),
  }
}

/** Starts a trial and waits until it has ended. It is cancelled when the command is interrupted. */
async function runTrial(
  { out, signal }: CommandContext,
  client: HubClient,
  { set, repeats }: TrialOptions,
  files: Record<string, string>,
): Promise<Trial> {
  const id = await findSet(client, set)
  const body = { files, ...(repeats !== undefined && { repeats }) }
  // not ended by the signal: whoever does not know its id cannot cancel it
  const started = await client.call('POST /sets/:id/trials', { params: { id }, body })
  const params = { id: started.trial.id }
  out.note(`${client.url}/trials/${params.id}`)
  try {
    return await waitForEnd({ out, signal }, client, params.id)
  } catch (error) {
    if (signal.aborted) await client.try('POST /trials/:id/cancel', { params })
    throw error
  }
}

/** A name as the hub compares it: without regard to case and white space. */
const toKey = (name: string): string =>
  name.normalize('NFC').toLowerCase().replace(/\s+/g, ' ').trim()

/** Returns the id of a set that is given by id or by agent and name. */
async function findSet(client: HubClient, given: string): Promise<string> {
  const at = given.indexOf('/')
  if (at < 0) return given
  const agent = given.slice(0, at).replace(/^@/, '')
  const name = given.slice(at + 1)
  const { sets } = await client.call('GET /agents/:name/sets', { params: { name: agent } })
  const found = sets.find((each) => toKey(each.name) === toKey(name))
  if (found) return found.id
  const names = sets.map((each) => each.name).join(', ')
  const hint = names === '' ? `${agent} has no set.` : `Its sets: ${names}.`
  throw new CommandError('notRun', `${agent} has no set named ${name}.`, hint)
}

async function waitForEnd(
  { out, signal }: Pick<CommandContext, 'out' | 'signal'>,
  client: HubClient,
  id: string,
): Promise<Trial> {
  let shown = ''
  for (;;) {
    const { trial: now } = await client.call('GET /trials/:id', { params: { id }, signal })
    const line = formatProgress(now)
    if (line !== shown) out.note(line)
    shown = line
    if (now.status === 'done' || now.status === 'cancelled') return now
    await pause(pollMs, signal)
  }
}

const formatProgress = ({ cases, open, better, worse, cost_microusd }: Trial): string =>
  `${cases.length - open} of ${cases.length} cases done, ${better} better, ${worse} worse, ${toDollars(cost_microusd)}`

/** A hub that refuses the trial is not a draft that is worse: the exit code says so. */
function toNotRun(error: unknown): unknown {
  const isRefused = error instanceof HubError && error.status >= 400
  if (!isRefused || error.status === 401 || error.status === 403) return error
  return new CommandError('notRun', error.message, error.hint, error.details)
}

function writeReport(file: string, { agent, set, created_at, cases }: Trial): void {
  try {
    writeFileSync(
      file,
      toJunit({ name: `${agent.name}/${set.name}`, startedAt: created_at, cases }),
    )
  } catch (error) {
    throw new CommandError('usage', `${file} cannot be written: ${(error as Error).message}`)
  }
}

const questionCharsMax = 80

function formatTrial(ended: Trial, link: string): string {
  const { better, worse, same, cannot_tell, waiting, skipped, reason } = ended
  const counts = Object.entries({ better, worse, same, undecided: cannot_tell, waiting, skipped })
  const rows = ended.cases.map((each) => [
    each.verdict?.replace('cannot_tell', 'undecided') ??
      (each.state === 'done' ? 'waiting' : each.state),
    // without checks equal answers, or a run that failed, have decided
    each.by === 'checks' && each.is_visible && each.checks.length === 0
      ? 'answers'
      : (each.by ?? ''),
    (each.reason ?? each.question).replace(/\s+/g, ' ').slice(0, questionCharsMax),
  ])
  return [
    toColumns(rows),
    counts.map(([name, count]) => `${count} ${name}`).join(', '),
    toPlain(reason),
    link,
  ].join('\n')
}

function findTrialExit(
  { better, worse, same, waiting, skipped, status }: Trial,
  worseMax: number,
): ExitName | undefined {
  if (worse > worseMax) return 'worse'
  const isNothingShown = better + worse + same + waiting === 0
  return status === 'cancelled' || skipped > 0 || isNothingShown ? 'notRun' : undefined
}
