import { accountPath } from '../../shared/paths'

export const newAgentPath = '/agents/new'
export const editPath = (name: string): string => `${accountPath(name)}/edit`
/** Path of the editor with a set chosen, on which the change is to be tried. */
export const tryOnSetPath = (name: string, set: string): string =>
  `${editPath(name)}?set=${encodeURIComponent(set)}`
/** Path of the editor with the draft of a trial, and its set. */
export const draftPath = (name: string, trial: string, set: string): string =>
  `${tryOnSetPath(name, set)}&trial=${encodeURIComponent(trial)}`
export const versionsPath = (name: string): string => `${accountPath(name)}/versions`
/** Path of the change that waits for a trial. */
export const heldPath = (name: string): string => `${accountPath(name)}/held`
export const schedulesPath = (name: string): string => `${accountPath(name)}/schedules`
export const exportPath = (name: string, version: number): string =>
  `${versionsPath(name)}/${version}.tar`
