import * as z from 'zod'
import { definitionLimits } from '../../shared/config'
import type { ErrorDetail } from '../../shared/errors'
import { readYaml, type YamlBudget } from './yaml-source'

/** A skill (AgentSkills convention): Markdown with front matter. */
export interface Skill {
  name: string
  description: string
  requiresGrants: string[]
  triggers: { keywords: string[]; communities: string[] }
  body: string
}

const texts = z.array(z.string().trim().min(1).max(100)).max(100).default([])

const frontMatter = z.object({
  name: z.string().trim().min(1).max(64),
  description: z.string().trim().min(1).max(1_024),
  requires_grants: texts,
  triggers: z.object({ keywords: texts, communities: texts }).prefault({}),
})

/** Parses a SKILL.md file: YAML front matter, then the text. */
export function readSkill(
  file: string,
  text: string,
  budget: YamlBudget,
): { ok: true; skill: Skill } | { ok: false; problems: ErrorDetail[] } {
  const lines = text.replaceAll('\r\n', '\n')
  const parts = /^\uFEFF?---[ \t]*\n([\s\S]*?)\n---[ \t]*(?:\n|$)([\s\S]*)$/.exec(lines)
  if (!parts) {
    const message = 'Front matter is missing. Add name and description between two lines of ---'
    return { ok: false, problems: [{ path: `${file}:1:front matter`, message }] }
  }
  const [, head = '', body = ''] = parts
  const read = readYaml(file, head, budget, 2)
  if (!read.ok) return read
  const parsed = frontMatter.safeParse(read.source.value ?? {})
  if (!parsed.success) {
    const issues = parsed.error.issues.slice(0, definitionLimits.detailsMax)
    const problems = issues.map(({ path, message }) => ({
      path: read.source.locate(path),
      message,
    }))
    return { ok: false, problems }
  }
  const { name, description, requires_grants, triggers } = parsed.data
  return {
    ok: true,
    skill: { name, description, requiresGrants: requires_grants, triggers, body: body.trim() },
  }
}
