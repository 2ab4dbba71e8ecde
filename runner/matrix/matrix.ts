// `npm run coding-agents:matrix [-- <program> ...] [--case <name>] [--check]`: plays every case with each installed
// program, and writes what happened into docs/coding-agents.md. `--check` only says whether the page is up to date.
import { parseArgs } from 'node:util'
import { findPrograms, type InstalledProgram } from '../programs.ts'
import { findSandboxProblem } from '../run/sandbox.ts'
import { type Case, cases } from './cases.ts'
import { findOutdated, readResults, writeResults } from './page.ts'
import { type Played, playCase } from './play.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { case: { type: 'string' }, check: { type: 'boolean' } },
})

process.exitCode = values.check ? check() : await playAll()

function check(): number {
  const outdated = findOutdated()
  for (const each of outdated) console.error(`${each}: run \`npm run coding-agents:matrix\`.`)
  return outdated.length === 0 ? 0 : 1
}

async function playAll(): Promise<number> {
  const problem = findSandboxProblem()
  if (problem) {
    console.error(`The matrix needs the sandbox: ${problem}.`)
    return 1
  }
  const chosen = findPrograms().filter(
    ({ type }) => type !== 'aider' && (positionals.length === 0 || positionals.includes(type)),
  )
  let failures = 0
  for (const program of chosen) failures += await playProgram(program)
  console.log(failures === 0 ? 'Every case ended as it must.' : `${failures} cases did not.`)
  return failures === 0 ? 0 : 1
}

async function playProgram(program: InstalledProgram): Promise<number> {
  let failures = 0
  for (const each of cases.filter(({ name }) => !values.case || name === values.case)) {
    const played = await playCase(program, each)
    const problems = findProblems(each, played)
    if (problems.length > 0) failures++
    print(`${program.type} ${each.name}`, played, problems)
    // Read again: two programs may be played at the same time.
    const results = readResults()
    const known = results[program.type]
    const ends = known?.version === program.version ? known.ends : {}
    results[program.type] = {
      version: program.version,
      ends: { ...ends, [each.name]: describe(played) },
    }
    writeResults(results)
  }
  return failures
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
