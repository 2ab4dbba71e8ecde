/** Sets of recorded runs, and trials of a draft on them. Part of the hub's contract. */

/** What the answer of a case must do. Texts are compared without regard to case and runs of white space. */
export type CaseCheck =
  | { type: 'contains' | 'contains_not'; value: string }
  /** A text in which `*` matches any characters. */
  | { type: 'matches'; value: string }
  /** Links to a post or comment: its id. */
  | { type: 'cites'; value: string }
  /** Calls a tool, or does not: its name, such as `hub_search`. */
  | { type: 'calls' | 'calls_not'; value: string }
  /** Words of the answer at most. */
  | { type: 'words_max'; value: number }
  /** Model calls at most. */
  | { type: 'steps_max'; value: number }
  /** Microdollars at most. */
  | { type: 'cost_max'; value: number }
  /** Does not do what it was asked for, and says so. */
  | { type: 'refuses'; value: boolean }

/** What a check found of one lane. */
export interface CheckResult {
  passed: boolean
  /** What was found instead, as a sentence; empty when it passed. */
  detail: string
}

/** By sample, then by check in the order of the case. `observed` has one sample. */
export interface SampleResults {
  observed: CheckResult[][]
  baseline: CheckResult[][]
  candidate: CheckResult[][]
}

/** How the draft did on a case, compared with the definition that is active. */
export type Verdict = 'better' | 'worse' | 'same' | 'cannot_tell'

/** Who decided a verdict. */
export type DecidedBy = 'checks' | 'judge' | 'people'

/** What a judge says of two answers, without knowing which is which. */
export type Judgement = 'first' | 'second' | 'same' | 'cannot_tell'

/** What a judge compares. */
export interface JudgeOrder {
  lane: 'judge'
  /** `provider/model`. */
  model: string
  /** What the run was asked. */
  question: string
  first: string
  second: string
  /** What would have been right, if a person wrote it. */
  note: string
  /** Why nothing is compared, as a sentence; null when it is. */
  problem: string | null
  /** The most that it may cost. */
  costMaxMicrousd: number
}

/** The model that compares answers, with the most that one comparison costs. */
export interface Judge {
  /** `provider/model`. */
  model: string
  costMaxMicrousd: number
  isPriced: boolean
  tokensMax: number
}

/** The most that a lane may use. */
export interface LaneLimits {
  grants: string[]
  durationMsMax: number
  tokensMax: number
  costMaxMicrousd: number
}

/** The same of all kinds of lanes of a trial. */
export interface TrialLaneLimits {
  baseline: LaneLimits
  candidate: LaneLimits
  /** Null without a judge. */
  judge: LaneLimits | null
  /** Whether the prices of all their models are known. */
  isPriced: boolean
}

/** What was found of a case when its lanes had ended, besides the results of its checks. */
export interface CaseFindings {
  /** How the active definition did compared with what happened; null when that is not known. */
  noise: Verdict | null
  /** Tool calls that failed. */
  toolErrors: Record<'baseline' | 'candidate', number>
}

/** `trial` of a definition, defaults applied. */
export interface TrialGate {
  /** Name of a set of the agent. */
  set: string
  /** Cases that may come out worse. */
  worseMax: number
  /** How much more the runs may cost, as a share of what they cost now; null: any. */
  costChangeMax: number | null
  repeats: number
}
