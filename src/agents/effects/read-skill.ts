import { chooseSkills } from '../context/choose-skills'
import { loadedFacts, readDefinition, type Workbench } from './workbench'

/** The text of a skill that the agent may use in the task it works on; null for any other (D5). */
export async function readSkill(bench: Workbench, name: string): Promise<string | null> {
  const facts = loadedFacts(bench.now().events)
  if (!facts) return null
  const found = await readDefinition(bench, facts.agentName, facts.definition.etag)
  if (!found.ok) return null
  // After a crash the policy is not in memory yet; what the skill then tells of needs its own grants.
  const policy = bench.grants?.policy
  const { skills } = policy
    ? chooseSkills(found.definition, policy, bench.deps.tools.isGranted)
    : found.definition
  const wanted = name.toLowerCase()
  return skills.find((skill) => skill.name.toLowerCase() === wanted)?.body ?? null
}
