import { setTimeout as wait } from 'node:timers/promises'
import { type CodingHub, listProgramProcesses, until } from './coding-hub.ts'

const victims = ['runner', 'hub', 'line', 'runner and hub'] as const
/** Its runs go to another runner a minute after it was disconnected, so this is one of so many. */
const forGood = 'runner for good'
const forGoodEvery = 20

/** What is to be killed, and when. */
export interface PlannedKill {
  victim: (typeof victims)[number] | typeof forGood
  /** After the tasks were given. */
  afterMs: number
}

export interface Kill extends PlannedKill {
  /** Attempts that the runs needed. */
  attempts: number[]
  /** What is wrong; none: all is as it should be. */
  problems: string[]
}

/** Returns numbers from 0 to 1 that depend on the seed alone (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Tasks of one kill: several agents at once, so that it meets runs in different states. */
const tasks = [
  { agent: 'coder1', acts: 'patient search', answer: 'The printer is on fire.' },
  { agent: 'coder2', acts: 'patient slowly', answer: 'Done slowly.' },
  { agent: 'coder3', acts: 'patient twice good', answer: 'The printer is on fire.' },
] as const
const windowMs = 3_500

/**
 * Plans the kill of a number from 0. The first five are of all kinds, and each kind has its share of the others; the
 * moment is random.
 *
 * @param random from 0 to 1
 */
export function planKill(at: number, random: () => number): PlannedKill {
  const isForGood = at % forGoodEvery === victims.length
  const victim = isForGood ? forGood : (victims[at % victims.length] ?? 'runner')
  return { victim, afterMs: Math.floor(random() * windowMs) }
}

/** Prepares a hub for `killOnce`. */
export async function prepareKills(hub: CodingHub): Promise<void> {
  hub.startRunner(firstRunner)
  for (const { agent } of tasks) {
    await hub.pushAgent(agent, ['capabilities: { grants: [hub:read] }'])
  }
  await hub.waitForRunner(firstRunner)
}

/**
 * Gives a task to each agent, kills something at a moment, lets it come back, and reports what is not as it should
 * be: one reply for each task, money that adds up, and no process left.
 */
export async function killOnce(hub: CodingHub, { victim, afterMs }: PlannedKill): Promise<Kill> {
  const asked = hub.provider.requests.length
  const posts = await Promise.all(tasks.map(({ agent, acts }) => hub.ask(agent, acts)))
  await wait(afterMs)
  if (victim === forGood) await replaceRunner(hub)
  else await kill(hub, victim)
  const problems: string[] = []
  const runs = await Promise.all(
    posts.map((postId, index) => checkTask(hub, postId, tasks[index]?.answer ?? '', problems)),
  )
  const charges = runs.reduce((sum, run) => sum + run.charges, 0)
  const requests = hub.provider.requests.length - asked
  if (charges < requests) problems.push(`${requests} requests, ${charges} charges`)
  const audit = await hub.api<{ is_consistent: boolean }>('GET', '/budgets/audit')
  if (!audit.is_consistent) problems.push('the audit of the budgets does not agree')
  await until(
    'the processes to end',
    () => listProgramProcesses(hub.folder).length === 0 || null,
  ).catch((error: Error) => problems.push(error.message))
  return { victim, afterMs, attempts: runs.map(({ attempt }) => attempt), problems }
}

const firstRunner = 'runner-1'
const nameRunner = (hub: CodingHub): string => [...hub.runners.keys()].at(-1) ?? firstRunner

/** Kills the runner when another one is connected, which takes what it had. */
async function replaceRunner(hub: CodingHub): Promise<void> {
  const old = nameRunner(hub)
  const next = `runner-${Number(old.split('-')[1]) + 1}`
  hub.startRunner(next)
  await hub.waitForRunner(next)
  await hub.killRunner(old)
}

async function kill(hub: CodingHub, victim: (typeof victims)[number]): Promise<void> {
  const name = nameRunner(hub)
  if (victim === 'line') hub.line.cut()
  if (victim.includes('runner')) await hub.killRunner(name)
  if (victim.includes('hub')) await hub.killHub()
  if (victim.includes('runner')) hub.startRunner(name)
}

async function checkTask(hub: CodingHub, postId: string, answer: string, problems: string[]) {
  const run = await until(
    `the run of ${postId}`,
    async () => {
      const runs = await hub.findRuns(postId)
      return runs.length === 1 && runs[0]?.state === 'done' ? runs[0] : null
    },
    180_000,
  )
  if (run.outcome !== 'completed') problems.push(`a run ended as ${run.outcome}`)
  const replies = (await hub.readReplies(postId)).map(({ content }) => content)
  if (replies.length !== 1 || replies[0] !== `@admin ${answer}`) {
    problems.push(`the replies are ${JSON.stringify(replies)}`)
  }
  const charges = (await hub.readCharges(run.id)).map(({ cost }) => cost)
  const sum = charges.reduce((total, cost) => total + cost, 0)
  if (sum !== run.cost) problems.push(`a run costs ${run.cost}, its charges are ${sum}`)
  return { attempt: run.run_attempt ?? 0, charges: charges.length }
}
