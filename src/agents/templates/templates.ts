import type { DefinitionTemplate } from '../contract/definitions'
import { archivist, blank, minutes, researcher, translator } from './knowledge'
import { moderatorsHelper, releaseNotes, standup, triage } from './operations'

/** Definitions to start from: first a blank one, then those for common jobs. */
export const templates: readonly DefinitionTemplate[] = [
  blank,
  researcher,
  archivist,
  minutes,
  standup,
  triage,
  moderatorsHelper,
  releaseNotes,
  translator,
]
