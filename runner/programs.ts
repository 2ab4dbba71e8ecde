import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ProgramType, programTypes } from '../src/shared/runner-protocol.ts'
import { profiles } from './profiles/profiles.ts'

export interface InstalledProgram {
  type: ProgramType
  version: string
  /** Where it lies; readable inside the sandbox. */
  folder: string
}

const programsFolder = fileURLToPath(new URL('./programs', import.meta.url))

/** Where a program's lockfile is, and its packages once they are installed. */
export const toProgramFolder = (type: ProgramType): string => join(programsFolder, type)

/** Returns the coding agents that this machine has, with their versions. */
export const findPrograms = (): InstalledProgram[] =>
  programTypes.flatMap((type) => {
    const { packageName } = profiles[type]
    const found = packageName === null ? findCommand(type) : findPackage(type, packageName)
    return found ? [found] : []
  })

function findPackage(type: ProgramType, packageName: string): InstalledProgram | null {
  const folder = toProgramFolder(type)
  const path = join(folder, 'node_modules', packageName, 'package.json')
  if (!existsSync(path)) return null
  return { type, version: JSON.parse(readFileSync(path, 'utf8')).version, folder }
}

function findCommand(type: ProgramType): InstalledProgram | null {
  const path = (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, type))
    .find(existsSync)
  if (!path) return null
  const { stdout, status } = spawnSync(path, ['--version'], { encoding: 'utf8', timeout: 30_000 })
  if (status !== 0) return null
  // A Python environment has its programs in `bin`, beside `lib`. Other folders hold more than the program.
  const folder = dirname(dirname(realpathSync(path)))
  if (!existsSync(join(folder, 'pyvenv.cfg'))) return null
  return { type, version: stdout.trim().slice(0, 100), folder }
}
