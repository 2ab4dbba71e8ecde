import { definitionLimits } from '../../shared/config'
import type { ErrorDetail } from '../../shared/errors'
import type { DefinitionFiles } from '../contract/agents'
import type { Config } from './config-schema'
import { type Definition, toDefinition } from './definition'
import { checkFiles, configFile, listSkillFiles, promptFile } from './definition-files'
import { findScheduleProblems } from './exploration-facts'
import { fillTemplates } from './fill-templates'
import { readConfig } from './read-config'
import { readSkill, type Skill } from './read-skill'
import { createYamlBudget, type YamlBudget, type YamlSource } from './yaml-source'

export type DefinitionResult =
  | {
      ok: true
      config: Config
      definition: Definition
      source: YamlSource
      warnings: ErrorDetail[]
    }
  | { ok: false; problems: ErrorDetail[] }

/** Reads a definition's files. Reports the problems of all files at once. */
export function readDefinition(files: DefinitionFiles): DefinitionResult {
  const problems = checkFiles(files)
  if (problems.length > 0) return { ok: false, problems: limitDetails(problems) }
  const budget = createYamlBudget()
  const config = readConfig(files[configFile] ?? '', budget)
  const skills = readSkills(files, budget, problems)
  if (!config.ok) return { ok: false, problems: limitDetails([...config.problems, ...problems]) }

  const prompt = fillTemplates(promptFile, (files[promptFile] ?? '').trim(), config.config)
  problems.push(...prompt.problems, ...findScheduleProblems(config.config, config.source))
  if (problems.length > 0) return { ok: false, problems: limitDetails(problems) }
  const warnings = [
    ...config.warnings,
    ...warnSkillMismatches(config.config, skills, config.source),
  ]
  const definition = toDefinition(config.config, prompt.text, listedSkills(config.config, skills))
  return { ok: true, config: config.config, definition, source: config.source, warnings }
}

/** Returns the details that are listed, and how many more there are. */
export function limitDetails(details: ErrorDetail[]): ErrorDetail[] {
  const shown = details.slice(0, definitionLimits.detailsMax)
  const more = details.length - shown.length
  return more === 0 ? shown : [...shown, { path: 'files', message: `${more} more are not listed` }]
}

function readSkills(
  files: DefinitionFiles,
  budget: YamlBudget,
  problems: ErrorDetail[],
): Map<string, Skill> {
  const skills = new Map<string, Skill>()
  let terms = 0
  for (const { folder, file } of listSkillFiles(files)) {
    const read = readSkill(file, files[file] ?? '', budget)
    if (!read.ok) {
      problems.push(...read.problems)
      continue
    }
    skills.set(folder, read.skill)
    const { requiresGrants, triggers } = read.skill
    terms += requiresGrants.length + triggers.keywords.length + triggers.communities.length
  }
  if (terms > definitionLimits.skillTermsMax) problems.push(tooManyTerms(terms))
  return skills
}

const tooManyTerms = (terms: number): ErrorDetail => ({
  path: 'skills',
  message: `The skills name ${terms} grants, keywords and communities: the maximum is ${definitionLimits.skillTermsMax}. Remove some`,
})

/** Returns the skills that the definition lists; all skills when it has no list. */
function listedSkills(config: Config, skills: Map<string, Skill>): Skill[] {
  const listed = config.capabilities?.skills
  return [...skills]
    .filter(([folder, { name }]) => listed?.includes(folder) || listed?.includes(name) || !listed)
    .map(([, skill]) => skill)
}

/** Warns of listed skills without a file, and of files that are not listed. Folder and name both count. */
function warnSkillMismatches(
  config: Config,
  skills: Map<string, Skill>,
  source: YamlSource,
): ErrorDetail[] {
  const known = new Set([...skills].flatMap(([folder, { name }]) => [folder, name]))
  const listed = config.capabilities?.skills ?? []
  const missing = listed.flatMap((name, index) => {
    if (known.has(name)) return []
    const path = source.locate(['capabilities', 'skills', index])
    return [{ path, message: `Ignored: skills/${name}/SKILL.md does not exist` }]
  })
  const used = new Set(listedSkills(config, skills))
  const unlisted = [...skills].flatMap(([folder, skill]) => {
    if (used.has(skill)) return []
    const path = source.locate(['capabilities', 'skills'])
    return [{ path, message: `skills/${folder} is not used: it is not in this list` }]
  })
  return [...missing, ...unlisted]
}
