// Skills that several agents of a folder share: they stand beside the agents, not within each.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

const skillName = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

/**
 * Returns the files of the skills that a definition lists and does not contain, from a folder `skills`
 * beside it or one level above.
 *
 * @param {string} folder of the agent
 * @param {Record<string, string>} files of the definition, by path
 * @returns {Record<string, string>}
 */
export function readSharedSkills(folder, files) {
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

/**
 * @param {string} config
 * @returns {string[]} none for a file that cannot be read: the hub says why
 */
function listSkills(config) {
  try {
    const skills = parse(config)?.capabilities?.skills
    return Array.isArray(skills) ? skills.filter((name) => typeof name === 'string') : []
  } catch {
    return []
  }
}
