// `npm run coding-agents:matrix [-- <program> ...] [--case <name> ...] [--jobs <count>] [--compare] [--check]`: plays
// cases with each installed program, and writes what happened into docs/coding-agents.md. `--compare` writes nothing: every
// pinned program must be installed, and do what the page says. `--check` only says whether the page is up to date.
import { parseArgs } from 'node:util'
import { programTypes } from '../../src/shared/runner-protocol.ts'
import { findSandboxProblem } from '../../tests/support/start-runner-process.ts'
import { profiles } from '../profiles/profiles.ts'
import { findPrograms, type InstalledProgram } from '../programs.ts'
import { type Case, cases } from './cases.ts'
import { findOutdated, readResults, writeResults } from './page.ts'
import { type Played, playCase } from './play.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    case: { type: 'string', multiple: true },
    jobs: { type: 'string', default: '1' },
    compare: { type: 'boolean' },
    check: { type: 'boolean' },
  },
})

interface Task {
  program: InstalledProgram
  case: Case
}

process.exitCode = values.check ? check() : await playAll()

function check(): number {
  const outdated = findOutdated()
  for (const each of outdated) console.error(`${each}: run \`npm run coding-agents:matrix\`.`)
  return outdated.length === 0 ? 0 : 1
}

async function playAll(): Promise<number> {
  const isWanted = (type: string) => positionals.length === 0 || positionals.includes(type)
  const programs = findPrograms().filter(({ type }) => type !== 'aider' && isWanted(type))
  const problems = [findSandboxProblem()].flatMap((problem) =>
    problem === null ? [] : [`The matrix needs the sandbox: ${problem}.`],
  )
  if (values.compare) {
    const missing = programTypes.filter(
      (type) =>
        profiles[type].packageName !== null &&
        isWanted(type) &&
        !programs.some((each) => each.type === type),
    )
    problems.push(
      ...missing.map((type) => `${type} is not installed: rookery runner install ${type}`),
    )
  }
  if (problems.length > 0) {
    console.error(problems.join('\n'))
    return 1
  }
  const chosen = cases.filter(({ name }) => values.case?.includes(name) ?? true)
  // Cases in which nothing happens for long come first, so that others are played meanwhile.
  const tasks = chosen
    .toSorted((one, other) => Number(other.isLong ?? false) - Number(one.isLong ?? false))
    .flatMap((each) => programs.map((program): Task => ({ program, case: each })))
  const failures = await playTasks(tasks, Number(values.jobs))
  console.log(
    failures === 0
      ? `Every case ended as it must (${tasks.length}).`
      : `${failures} of ${tasks.length} cases did not.`,
  )
  return failures === 0 && tasks.length > 0 ? 0 : 1
}

/** Plays so many at the same time. Returns how many did not end as they must. */
async function playTasks(tasks: Task[], jobs: number): Promise<number> {
  const left = [...tasks]
  let failures = 0
  const work = async () => {
    for (let task = left.shift(); task; task = left.shift()) {
      const { program, case: each } = task
      const hasEndedWell = await playTask(task).catch((error: Error) => {
        console.log(`${program.type} ${each.name}: FAILED: ${error.message}`)
        return false
      })
      if (!hasEndedWell) failures++
    }
  }
  await Promise.all(Array.from({ length: jobs }, work))
  return failures
}

/** Plays a case, prints what happened, and compares it with the page or writes it there. */
async function playTask({ program, case: each }: Task): Promise<boolean> {
  const played = await playCase(program, each)
  const problems = findProblems(each, played)
  // Read again: others are played at the same time.
  const results = readResults()
  const known = results[program.type]
  if (values.compare) {
    const expected = known?.version === program.version ? known.ends[each.name] : undefined
    if (describe(played) !== expected) problems.push(`the page says ${expected ?? 'nothing'}`)
  } else {
    const ends = known?.version === program.version ? known.ends : {}
    results[program.type] = {
      version: program.version,
      ends: { ...ends, [each.name]: describe(played) },
    }
    writeResults(results)
  }
  print(`${program.type} ${each.name}`, played, problems)
  return problems.length === 0
}

function findProblems({ name, ends }: Case, played: Played): string[] {
  const problems: string[] = []
  if (!ends.some((end) => end === played.end)) problems.push(`expected ${ends.join(' or ')}`)
  if (name === 'good' && !isGood(played)) problems.push('the good turn was not good')
  if (played.left > 0) problems.push(`${played.left} processes left`)
  if (played.leaks.length > 0) problems.push(`token in ${played.leaks.join(', ')}`)
  return problems
}

function isGood({ isSuccess, answer, toolCalls }: Played): boolean {
  return isSuccess && answer.startsWith('The printer') && toolCalls === 1
}

function describe({ end, isSuccess }: Played): string {
  return end === 'end_turn' ? `end_turn, ${isSuccess ? 'claims success' : 'failure seen'}` : end
}

function print(name: string, played: Played, problems: string[]): void {
  const facts = `${describe(played)}, ${played.requests} requests, ${played.seconds.toFixed(1)} s`
  const detail = played.detail ? ` (${played.detail.slice(0, 200)})` : ''
  console.log([`${name}: ${facts}${detail}`, ...problems].join('; FAILED: '))
}
