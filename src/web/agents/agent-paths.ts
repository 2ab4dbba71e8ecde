import { accountPath } from '../../shared/paths'

export const newAgentPath = '/agents/new'
export const editPath = (name: string): string => `${accountPath(name)}/edit`
export const versionsPath = (name: string): string => `${accountPath(name)}/versions`
export const schedulesPath = (name: string): string => `${accountPath(name)}/schedules`
export const exportPath = (name: string, version: number): string =>
  `${versionsPath(name)}/${version}.tar`
