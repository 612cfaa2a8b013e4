// SPDX-License-Identifier: Apache-2.0
// The report as src/report/page_json.cc writes it: the C++ ReportDoc, columns instead of rows where there are many.
// Times are nanoseconds, sizes bytes. The page formats, it computes nothing that the command line cannot print.

export type Unit =
  | 'text' | 'rank' | 'step' | 'count' | 'duration' | 'bytes' | 'share' | 'ratio' | 'bytes-per-second' | 'number';
export type TimeClass =
  | 'compute' | 'memory' | 'transfer' | 'wait' | 'host' | 'input' | 'idle' | 'bubble' | 'own' | 'other';
export type Mark = 'none' | 'culprit' | 'victim' | 'peer';
// In the order of the enums in report_doc.h: rectangles hold positions in these.
export const kTimeClasses: readonly TimeClass[] = ['compute', 'memory', 'transfer', 'wait', 'host', 'input', 'idle', 'bubble', 'own', 'other'];
export const kMarks: readonly Mark[] = ['none', 'culprit', 'victim', 'peer'];
export type Severity = 'info' | 'warning' | 'critical';
export type Confidence = 'suspected' | 'likely' | 'sure';
export type Value = null | number | string;

export interface Fact { label: string; value: Value; unit: Unit; note: string; term: string }

export interface Evidence { metric: string; value: string; expected: string; peers: string; source: string }

export interface Finding {
  id: string;
  cause: string;
  severity: Severity;
  confidence: Confidence;
  confidence_reason: string;
  ranks: number[];
  hosts: string[];
  devices: string[];
  links: { from: number; to: number }[];
  stage: number | null;
  function: string;
  group: string;
  when: { kind: 'persistent' | 'intermittent' | 'once' | 'onset'; steps: number[] };
  victims: number[];
  recoverable: number;
  worst_step: number;
  cost_by_step: number[];
  headline: string;
  sentence: string;
  suggestion: string;
  edit: string;
  evidence: Evidence[];
}

export interface WaterfallItem {
  name: string; time_class: TimeClass; role: 'part' | 'within' | 'total'; value: number; note: string; term: string;
}
export interface Waterfall { items: WaterfallItem[] }

export interface StackedBars {
  bars: { rank: number; label: string; mark: Mark }[];
  series: { name: string; time_class: TimeClass; own: boolean; values: number[]; term: string }[];
  reference: number;
}

export interface HeatMetric { name: string; unit: Unit; term: string; higher_is_worse: boolean; values: (number | null)[] }
export interface HeatStrip {
  row_name: string;
  column_name: string;
  rows: { rank: number; label: string }[];
  columns: number[];
  metrics: HeatMetric[];
}

export interface Timeline {
  finding: string;
  origin: string;
  length: number;
  clock_residual: number;
  legend: boolean;
  names: string[];
  lanes: { owner: string; label: string; rank: number; mark: Mark }[];
  // Columns of equal length.
  rects: { lane: number[]; start: number[]; duration: number[]; time_class: number[]; name: number[]; mark: number[] | null };
  arrows: { from_lane: number; to_lane: number; from: number; to: number; name: number }[];
  ticks: { at: number; label: string }[];
}

export interface Column { title: string; unit: Unit; term: string }
export interface Row { cells: Value[]; role: 'plain' | 'abnormal' | 'normal'; pair: number; rank: number }
export interface Table { columns: Column[]; rows: Row[]; sort_column: number; descending: boolean; notes: string[] }

export interface Chart {
  x_name: string; x_unit: Unit; y_name: string; y_unit: Unit;
  x: number[]; labels: string[];
  series: { name: string; time_class: TimeClass; points: boolean; values: (number | null)[] }[];
}

interface Head { name: string; title: string; intro: string }
export type Section = Head & (
  | ({ kind: 'text' } & { paragraphs: string[] })
  | ({ kind: 'facts' } & { facts: Fact[] })
  | ({ kind: 'waterfall' } & Waterfall)
  | ({ kind: 'stacked-bars' } & StackedBars)
  | ({ kind: 'heat-strip' } & HeatStrip)
  | ({ kind: 'timeline' } & Timeline)
  | ({ kind: 'table' } & Table)
  | ({ kind: 'chart' } & Chart)
);

export interface Problem { severity: string; problem: string; count: number; what: string; where: string }

export interface Doc {
  command: string;
  title: string;
  version: string;
  header: { label: string; text: string }[];
  headline: {
    sentence: string; now_label: string; attainable_label: string;
    now: number | null; attainable: number | null; detection_floor: number | null;
  };
  key_facts: Fact[];
  steps: number[];
  step_durations: number[];
  places: { rank: number[]; host: string[]; device: string[]; coordinates: number[][] };
  coordinate_names: string[];
  findings: Finding[];
  sections: Section[];
  analyses_run: number;
  not_checked: { what: string; why: string }[];
  data_quality: { summary: string; facts: Fact[]; problems: Problem[] };
  commands: { label: string; command: string; what: string }[];
  definitions: { term: string; title: string; text: string }[];
}
