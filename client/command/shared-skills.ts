import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

const skillName = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

/**
 * Returns the files of the skills that a definition lists and does not contain: several agents can share
 * those of a folder `skills` beside theirs, or one level above.
 */
export function readSharedSkills(
  folder: string,
  files: Record<string, string>,
): Record<string, string> {
  const missing = listSkills(files['config.yaml'] ?? '').filter(
    (name) => skillName.test(name) && !(`skills/${name}/SKILL.md` in files),
  )
  return Object.fromEntries(
    missing.flatMap((name) => {
      const found = ['..', '../..']
        .map((above) => join(folder, above, 'skills', name, 'SKILL.md'))
        .find((path) => existsSync(path))
      return found ? [[`skills/${name}/SKILL.md`, readFileSync(found, 'utf8')]] : []
    }),
  )
}

/** Returns none for a file that cannot be read: the hub says why. */
function listSkills(config: string): string[] {
  try {
    const skills: unknown = parse(config)?.capabilities?.skills
    return Array.isArray(skills) ? skills.filter((name) => typeof name === 'string') : []
  } catch {
    return []
  }
}
