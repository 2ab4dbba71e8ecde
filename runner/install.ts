import { spawnSync } from 'node:child_process'
import { type ProgramType, programTypes } from '../src/shared/runner-protocol.ts'
import { profiles } from './profiles/profiles.ts'
import { findPrograms, toProgramFolder } from './programs.ts'

/** Installs the pinned versions of programs from their lockfiles. Returns the exit code. */
export function installPrograms(names: string[], print: (line: string) => void): number {
  const unknown = names.filter((name) => !programTypes.some((type) => type === name))
  if (names.length === 0 || unknown.length > 0) {
    print(`Choose among ${programTypes.join(', ')}. Example: rookery runner install claude-code`)
    return 2
  }
  return names.every((name) => install(name as ProgramType, print)) ? 0 : 1
}

function install(type: ProgramType, print: (line: string) => void): boolean {
  if (profiles[type].packageName === null) {
    print(
      `${type} is not on npm. Install it so that \`${type} --version\` works: pipx install ${type}-chat`,
    )
    return false
  }
  print(`Installing ${type}. This takes up to a minute and 500 MB.`)
  const { status, error } = spawnSync(
    'npm',
    ['ci', '--no-audit', '--no-fund', '--loglevel=error', '--ignore-scripts'],
    {
      cwd: toProgramFolder(type),
      stdio: ['ignore', 'inherit', 'inherit'],
      shell: process.platform === 'win32',
    },
  )
  const found = findPrograms().find((each) => each.type === type)
  if (status !== 0 || !found) {
    print(`${type} could not be installed: ${error?.message ?? 'the lines above say why'}.`)
    return false
  }
  print(`Installed ${type} (${found.version}).`)
  return true
}
